//! Environment variables that change which code a program loads or runs.

/// A variable, or a family of variables, with the reason why it is dangerous.
#[derive(Debug, PartialEq, Eq)]
pub struct LoaderVariable {
    /// The name. `*` matches any text.
    pub name: &'static str,
    /// What programs do with the variable.
    pub reason: &'static str,
}

const fn row(name: &'static str, reason: &'static str) -> LoaderVariable {
    LoaderVariable { name, reason }
}

/// All such variables. Names are compared without case: npm reads both forms, and a false warning costs less than a
/// missing one.
pub const LOADER_VARIABLES: &[LoaderVariable] = &[
    row(
        "LD_*",
        "the dynamic linker loads the libraries that it names into every program",
    ),
    row(
        "DYLD_*",
        "the dynamic linker of macOS loads the libraries that it names into every program",
    ),
    row("GLIBC_TUNABLES", "it changes how the C library works"),
    row(
        "GCONV_PATH",
        "the C library loads conversion modules from this folder",
    ),
    row(
        "LOCPATH",
        "the C library loads locale data from this folder",
    ),
    row(
        "OPENSSL_CONF",
        "OpenSSL loads the modules that this file names",
    ),
    row("OPENSSL_ENGINES", "OpenSSL loads engines from this folder"),
    row(
        "OPENSSL_MODULES",
        "OpenSSL loads providers from this folder",
    ),
    row("PATH", "it decides which file is run for each program name"),
    row("HOME", "programs read their configuration from this folder"),
    row(
        "XDG_CONFIG_*",
        "programs read their configuration from this folder",
    ),
    row(
        "XDG_DATA_*",
        "programs read plugins and data from this folder",
    ),
    row("SHELL", "programs start this file as the shell"),
    row(
        "BASH_ENV",
        "bash runs this file before every script and every `bash -c`",
    ),
    row(
        "ENV",
        "sh runs this file when it starts as an interactive shell",
    ),
    row(
        "BASH_FUNC_*",
        "bash takes a function from it that can replace any command",
    ),
    row("SHELLOPTS", "it sets options of the shell"),
    row("BASHOPTS", "it sets options of the shell"),
    row("PS4", "bash runs commands in it when it traces a script"),
    row("PROMPT_COMMAND", "bash runs it before each prompt"),
    row("ZDOTDIR", "zsh runs the start files in this folder"),
    row("EDITOR", "programs run it as the editor"),
    row("VISUAL", "programs run it as the editor"),
    row("PAGER", "programs run it as the pager"),
    row("BROWSER", "programs run it to open a page"),
    row(
        "NODE_OPTIONS",
        "Node.js takes options from it, also modules to load first (`--require`)",
    ),
    row("NODE_PATH", "Node.js loads modules from these folders"),
    row(
        "NODE_EXTRA_CA_CERTS",
        "Node.js accepts certificates of the authorities in this file",
    ),
    row(
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "it can switch off the check of certificates",
    ),
    row(
        "npm_config_*",
        "npm takes settings from it, also the registry and scripts to run",
    ),
    row(
        "YARN_*",
        "yarn takes settings from it, also the registry and plugins",
    ),
    row(
        "BUN_*",
        "bun takes settings from it, also code to load first",
    ),
    row(
        "DENO_*",
        "deno takes settings from it, also the folder of cached code",
    ),
    row(
        "PYTHONPATH",
        "Python loads modules from these folders first",
    ),
    row(
        "PYTHONSTARTUP",
        "Python runs this file when it starts interactively",
    ),
    row(
        "PYTHONHOME",
        "Python loads its standard library from this folder",
    ),
    row(
        "PYTHONUSERBASE",
        "Python loads packages and start-up hooks from this folder",
    ),
    row(
        "PYTHONBREAKPOINT",
        "Python loads the function that it names",
    ),
    row("PYTHONINSPECT", "Python stays interactive after the script"),
    row(
        "PYTHONWARNINGS",
        "Python loads the module of the warning class that it names",
    ),
    row(
        "VIRTUAL_ENV",
        "tools of Python load packages from this folder",
    ),
    row(
        "PIP_*",
        "pip takes settings from it, also the index that packages come from",
    ),
    row(
        "UV_*",
        "uv takes settings from it, also the index that packages come from",
    ),
    row(
        "PERL5OPT",
        "Perl takes options from it, also modules to load",
    ),
    row("PERL5LIB", "Perl loads modules from these folders first"),
    row("PERL5DB", "Perl runs it as the debugger"),
    row("PERLLIB", "Perl loads modules from these folders first"),
    row(
        "RUBYOPT",
        "Ruby takes options from it, also files to load first (`-r`)",
    ),
    row("RUBYLIB", "Ruby loads files from these folders first"),
    row("GEM_*", "Ruby loads gems from this folder"),
    row(
        "BUNDLE_*",
        "Bundler takes settings from it, also the Gemfile to run",
    ),
    row(
        "JAVA_TOOL_OPTIONS",
        "Java takes options from it, also agents to load",
    ),
    row(
        "_JAVA_OPTIONS",
        "Java takes options from it, also agents to load",
    ),
    row(
        "JDK_JAVA_OPTIONS",
        "Java takes options from it, also agents to load",
    ),
    row("JAVA_HOME", "it decides which Java is run"),
    row("CLASSPATH", "Java loads classes from these places"),
    row("MAVEN_OPTS", "Maven passes it to Java as options"),
    row("GRADLE_OPTS", "Gradle passes it to Java as options"),
    row(
        "DOTNET_*",
        ".NET takes settings from it, also start-up hooks to load",
    ),
    row("CORECLR_*", ".NET loads the profiler that it names"),
    row("COR_*", ".NET loads the profiler that it names"),
    row(
        "PHPRC",
        "PHP reads its configuration, with files to load first, from here",
    ),
    row(
        "PHP_INI_SCAN_DIR",
        "PHP reads its configuration, with files to load first, from here",
    ),
    row("LUA_INIT*", "Lua runs it before anything else"),
    row("LUA_PATH*", "Lua loads modules from these places"),
    row("LUA_CPATH*", "Lua loads libraries from these places"),
    row("R_PROFILE*", "R runs this file when it starts"),
    row("R_ENVIRON*", "R takes variables from this file"),
    row(
        "GOFLAGS",
        "go takes options from it, also programs to run (`-toolexec`)",
    ),
    row("GOPROXY", "go fetches modules from here"),
    row("RUSTC*", "cargo runs it as the compiler or its wrapper"),
    row(
        "RUSTFLAGS",
        "the Rust compiler takes options from it, also a linker to run",
    ),
    row(
        "CARGO_*",
        "cargo takes settings from it, also programs to run",
    ),
    row(
        "GIT_CONFIG*",
        "git takes settings from it, and several of them run programs",
    ),
    row("GIT_SSH*", "git runs it to reach a remote"),
    row("GIT_EXEC_PATH", "git runs its commands from this folder"),
    row("GIT_PROXY_COMMAND", "git runs it to reach a remote"),
    row("GIT_EXTERNAL_DIFF", "git runs it to compare files"),
    row(
        "GIT_TEMPLATE_DIR",
        "git copies hooks, which it runs, from this folder",
    ),
    row("GIT_ASKPASS", "git runs it to ask for a password"),
    row("SSH_ASKPASS*", "ssh runs it to ask for a password"),
    row("GIT_*EDITOR", "git runs it as the editor"),
    row("GIT_PAGER", "git runs it as the pager"),
    row(
        "SSL_CERT_*",
        "programs accept certificates of the authorities in this place",
    ),
    row(
        "REQUESTS_CA_BUNDLE",
        "programs accept certificates of the authorities in this file",
    ),
    row(
        "CURL_CA_BUNDLE",
        "programs accept certificates of the authorities in this file",
    ),
    row(
        "*_PROXY",
        "programs send their network traffic through this address",
    ),
    row(
        "DOCKER_*",
        "docker takes settings from it, also the machine that containers run on",
    ),
    row(
        "KUBECONFIG",
        "kubectl reads this file, which can name programs to run",
    ),
    row(
        "AWS_CONFIG_FILE",
        "AWS tools read this file, which can name programs to run",
    ),
];

/// Returns the row that matches a variable's name.
pub fn loader_variable(name: &str) -> Option<&'static LoaderVariable> {
    LOADER_VARIABLES.iter().find(|row| is_match(row.name, name))
}

fn is_match(pattern: &str, name: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else {
        return pattern.eq_ignore_ascii_case(name);
    };
    let is_same = |part: Option<&str>, wanted: &str| {
        part.is_some_and(|part| part.eq_ignore_ascii_case(wanted))
    };
    name.len() >= start.len() + end.len()
        && is_same(name.get(..start.len()), start)
        && is_same(name.get(name.len() - end.len()..), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_07_variables_that_load_code_have_a_reason_and_others_have_none() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "NODE_PATH",
            "BASH_ENV",
            "ENV",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "RUBYLIB",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_GLOBAL",
            "GIT_SSH_COMMAND",
            "GIT_SEQUENCE_EDITOR",
            "PATH",
            "npm_config_registry",
            "NPM_CONFIG_REGISTRY",
            "https_proxy",
            "UV_INDEX_URL",
        ] {
            let row = loader_variable(name).unwrap_or_else(|| panic!("{name} has no reason"));
            assert!(row.reason.len() > 15, "{name}");
        }
        for name in [
            "TOKEN",
            "API_KEY",
            "LANG",
            "ENVIRONMENT",
            "MY_PATH",
            "LD",
            "PORT",
            "",
        ] {
            assert_eq!(loader_variable(name), None, "{name}");
        }
    }

    #[test]
    fn no_row_is_hidden_by_one_before_it() {
        for row in LOADER_VARIABLES {
            let sample = row.name.replace('*', "");
            let found = loader_variable(&sample).map(|found| found.name);
            assert_eq!(found, Some(row.name));
        }
    }
}
