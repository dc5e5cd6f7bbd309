//! Which tmux server is meant: its socket, how we came to it, and the client program to reach it with.

use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::agents::process;
use crate::error::{Error, Exit, Result};

/// How the server was named.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Via {
    /// `-L`, `-S` or the default socket.
    Socket,
    /// `$TMUX`: this process runs inside the server of this pid, and means that one and no other on the same socket.
    Inside(i32),
}

/// A tmux server, living or not.
#[derive(Clone, Debug)]
pub struct Server {
    socket: PathBuf,
    label: Option<String>,
    via: Via,
    program: Option<PathBuf>,
}

impl Server {
    /// The server that tmux itself would take: `-S`, else `-L`, else `$TMUX`'s, else the default socket.
    ///
    /// # Errors
    /// A label with a `/` or an empty one, as tmux refuses them.
    pub fn resolve(label: Option<&str>, path: Option<&Path>) -> Result<Self> {
        let program = find_program();
        if let Some(path) = path {
            return Ok(Self { socket: normal(path), label: None, via: Via::Socket, program });
        }
        if let Some(label) = label {
            return Self::labelled(label, program);
        }
        Self::of_environment().map_or_else(|| Self::labelled("default", program), Ok)
    }

    /// The server that this process runs in.
    pub fn of_environment() -> Option<Self> {
        Self::of_variable(&std::env::var("TMUX").ok()?)
    }

    /// The server of a process with this `$TMUX`.
    pub fn of_variable(value: &str) -> Option<Self> {
        let (socket, pid) = parse_tmux_variable(value)?;
        // `tmux -S ./x` leaves a path that counts from the server's own directory.
        let socket = normal(&process::directory(pid).map_or(socket.clone(), |dir| dir.join(&socket)));
        Some(Self { socket, label: None, via: Via::Inside(pid), program: find_program() })
    }

    fn labelled(label: &str, program: Option<PathBuf>) -> Result<Self> {
        if label.is_empty() || label.contains('/') {
            return Err(Error::failed("bad_socket_name", format!("bad socket name {label:?}: it must not be empty or hold a '/'"))
                .exit(Exit::Usage)
                .hint("-L takes a name as tmux -L does; -S takes a path"));
        }
        let base = std::env::var_os("TMUX_TMPDIR").filter(|dir| !dir.is_empty()).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let socket = base.join(format!("tmux-{}", nix::unistd::getuid())).join(label);
        Ok(Self { socket: normal(&socket), label: Some(label.to_owned()), via: Via::Socket, program })
    }

    /// The socket's path, its folder resolved.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// First rule of recording: a process that runs inside a server speaks of that one, and of no other that answers on its socket.
    ///
    /// # Errors
    /// `other_server`: the one that answers has this `pid`, and this process runs in another.
    pub fn check_is_ours(&self, pid: i32) -> Result<()> {
        match self.via {
            Via::Inside(own) if own != pid => {
                let socket = self.socket.display();
                Err(Error::failed(
                    "other_server",
                    format!("this process runs in the server of pid {own}, but pid {pid} answers at {socket}"),
                )
                .hint(format!("kill -USR1 {own} makes tmux create its socket again")))
            }
            _ => Ok(()),
        }
    }

    /// Whether this process runs inside it, so that it lives.
    pub fn is_around_us(&self) -> bool {
        matches!(self.via, Via::Inside(_))
    }

    /// The pane that this process runs in, if that is one of this server: the server's pid and `%3`.
    pub fn own_pane(&self) -> Option<(i32, String)> {
        let (socket, pid) = std::env::var("TMUX").ok().as_deref().and_then(parse_tmux_variable)?;
        let here = self.via == Via::Inside(pid) || normal(&socket) == self.socket;
        let pane = std::env::var("TMUX_PANE").ok().filter(|pane| super::look::live_id(pane.as_bytes(), '%').is_some())?;
        here.then_some((pid, pane))
    }

    /// A format that is 1 in the server that this process speaks of. A helper may outlive its server, and find another on the socket.
    pub fn is_ours_format(&self) -> String {
        match self.via {
            Via::Inside(own) => format!("#{{==:#{{pid}},{own}}}"),
            Via::Socket => "1".to_owned(),
        }
    }

    /// The tmux client; `None` if there is none on PATH or where tmux usually lies.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// The options by which a client that may start the server names it. Only `-L` makes a missing socket folder.
    pub fn start_options(&self) -> Vec<&OsStr> {
        match &self.label {
            Some(label) => vec![OsStr::new("-L"), OsStr::new(label)],
            None => vec![OsStr::new("-S"), self.socket.as_os_str()],
        }
    }

    /// The options of `tmux attach` for this server, as a shell takes them, with a space behind; empty for the default one.
    pub fn attach_options(&self) -> String {
        match self.label.as_deref() {
            Some("default") => String::new(),
            Some(label) => format!("-L {} ", super::quote::shell_word(label)),
            None => format!("-S {} ", super::quote::shell_word(&self.socket.display().to_string())),
        }
    }

    /// The name by which `-L` means this server, `default` for the default one; `None` if its socket lies elsewhere.
    pub fn label(&self) -> Option<String> {
        let name = self.socket.file_name()?.to_str()?;
        let named = Self::labelled(name, None).ok()?;
        (named.socket == self.socket).then(|| name.to_owned())
    }

    /// A short name for people: the label, else the socket's path.
    pub fn display_name(&self) -> String {
        let default_folder = format!("tmux-{}", nix::unistd::getuid());
        let in_default_folder = self.socket.parent().and_then(Path::file_name) == Some(OsStr::new(&default_folder));
        match self.socket.file_name() {
            Some(name) if in_default_folder => name.to_string_lossy().into_owned(),
            _ => self.socket.display().to_string(),
        }
    }

    /// Whether a socket file lies there.
    pub fn socket_exists(&self) -> bool {
        fs_err::metadata(&self.socket).is_ok_and(|data| data.file_type().is_socket())
    }
}

/// `$TMUX` is `SOCKET,PID,SESSION`; the socket's path may hold commas.
fn parse_tmux_variable(value: &str) -> Option<(PathBuf, i32)> {
    let mut parts = value.rsplitn(3, ',');
    let _session = parts.next()?;
    let pid = parts.next()?.parse().ok()?;
    let socket = parts.next().filter(|socket| !socket.is_empty())?;
    Some((PathBuf::from(socket), pid))
}

/// One server has one spelling: the symlinks on its way are resolved, as far as the way exists (after a reboot the
/// socket's folder does not).
fn normal(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs_err::canonicalize(ancestor), absolute.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    absolute
}

/// A hook's PATH is that of the server's start and often poor, so the usual places are tried too.
fn find_program() -> Option<PathBuf> {
    if let Ok(found) = which::which("tmux") {
        return Some(found);
    }
    ["/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin", "/bin", "/opt/local/bin"]
        .iter()
        .map(|folder| Path::new(folder).join("tmux"))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tmux_variable_is_read_from_its_end() {
        assert_eq!(parse_tmux_variable("/tmp/tmux-0/default,123,0"), Some((PathBuf::from("/tmp/tmux-0/default"), 123)));
        assert_eq!(parse_tmux_variable("/tmp/a,b,c,7,3"), Some((PathBuf::from("/tmp/a,b,c"), 7)));
        for bad in ["", ",1,2", "/tmp/x", "/tmp/x,y,0"] {
            assert_eq!(parse_tmux_variable(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_socket_behind_a_symlinked_folder_is_one_socket() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs_err::canonicalize(dir.path()).unwrap();
        fs_err::create_dir(real.join("real")).unwrap();
        fs_err::os::unix::fs::symlink(real.join("real"), real.join("link")).unwrap();
        assert_eq!(normal(&real.join("link/sock")), real.join("real/sock"));
        assert_eq!(normal(&real.join("link/no/sock")), real.join("real/no/sock"));
    }

    #[test]
    fn a_label_is_a_name() {
        assert!(Server::resolve(Some("a/b"), None).is_err());
        assert!(Server::resolve(Some(""), None).is_err());
        assert!(Server::resolve(Some("work"), None).unwrap().socket().ends_with("work"));
    }
}
