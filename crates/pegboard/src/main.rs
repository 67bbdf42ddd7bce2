//! The `pegboard` command.

fn main() -> std::process::ExitCode {
    pegboard::cli::main()
}
