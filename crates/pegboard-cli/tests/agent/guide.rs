//! The program in the guide is the compiled example.

const GUIDE: &str = include_str!("../../../../docs/agent.md");
const EXAMPLE: &str = include_str!("../../../pegboard/examples/agent.rs");

#[test]
fn r_agent_01_the_guides_program_is_the_example_and_has_under_40_lines() {
    let program = GUIDE
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let program = program.expect("the guide has a program");
    assert_eq!(
        program, EXAMPLE,
        "docs/agent.md and examples/agent.rs differ"
    );
    let lines = program.lines().count();
    assert!(lines < 40, "{lines} lines");
}
