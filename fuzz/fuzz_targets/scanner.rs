#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let target = pegboard_fuzz::find("scanner").expect("the target exists");
    (target.run)(input);
});
