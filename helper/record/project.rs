//! Which git checkout a directory lies in, read from the files that git keeps; git itself is not run.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::model::RawText;
use crate::tmux::shell_line;

/// The main checkout of `dir`'s repository, and the linked worktree that `dir` lies in, if it is one.
pub fn of(dir: &Path) -> (Option<RawText>, Option<RawText>) {
    for top in dir.ancestors() {
        let git = top.join(".git");
        let Ok(data) = fs_err::metadata(&git) else { continue };
        if data.is_dir() {
            return (Some(top.into()), None);
        }
        return match main_checkout(&git) {
            Some(main) => (Some(main.into()), Some(top.into())),
            // A submodule: a checkout of its own.
            None => (Some(top.into()), None),
        };
    }
    (None, None)
}

/// The branch that a linked worktree has checked out; `None` on a detached head.
pub fn branch_of(worktree: &Path) -> Option<String> {
    let head = read_start(&git_dir(&worktree.join(".git"))?.join("HEAD"))?;
    head.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The line that brings a removed worktree back. `-f` since git may still know the one that is gone.
pub fn line_to_bring_back(main: &Path, path: &Path, branch: Option<&str>) -> String {
    let (main, path) = (main.display().to_string(), path.display().to_string());
    shell_line(&["git", "-C", &main, "worktree", "add", "-f", &path, branch.unwrap_or("--detach")])
}

/// The first 4 KiB of a file: a stranger may have put a pipe there that never ends, or a device.
fn read_start(path: &Path) -> Option<String> {
    fs_err::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut text = Vec::new();
    fs_err::File::open(path).ok()?.take(4096).read_to_end(&mut text).ok()?;
    String::from_utf8(text).ok()
}

/// A linked worktree's `.git` is a file `gitdir: MAIN/.git/worktrees/NAME`.
fn git_dir(git: &Path) -> Option<PathBuf> {
    let text = read_start(git)?;
    let link = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    if link.is_absolute() { Some(link) } else { Some(git.parent()?.join(link)) }
}

fn main_checkout(git: &Path) -> Option<PathBuf> {
    let link = git_dir(git)?;
    let worktrees = link.parent()?;
    if worktrees.file_name()? != "worktrees" {
        return None;
    }
    let common = worktrees.parent()?;
    // A bare repository has no checkout: the repository itself stands for the project.
    let main = if common.file_name()? == ".git" { common.parent()? } else { common };
    Some(fs_err::canonicalize(main).unwrap_or_else(|_| main.to_owned()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes the files that git makes")]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_belongs_to_its_main_checkout() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(dir.path()).unwrap();
        for folder in ["main/.git/worktrees/fix", "main/src/deep", "fix/src", "sub/.git-not", "plain"] {
            fs_err::create_dir_all(root.join(folder)).unwrap();
        }
        fs_err::write(root.join("fix/.git"), format!("gitdir: {}\n", root.join("main/.git/worktrees/fix").display())).unwrap();
        fs_err::write(root.join("main/.git/worktrees/fix/HEAD"), "ref: refs/heads/fix/auth\n").unwrap();
        fs_err::write(root.join("sub/.git"), "gitdir: ../main/.git/modules/sub\n").unwrap();
        let main: RawText = root.join("main").into();
        assert_eq!(branch_of(&root.join("fix")).as_deref(), Some("fix/auth"));
        assert_eq!(branch_of(&root.join("main")), None);
        assert_eq!(of(&root.join("main/src/deep")), (Some(main.clone()), None));
        assert_eq!(of(&root.join("fix/src")), (Some(main), Some(root.join("fix").into())));
        assert_eq!(of(&root.join("sub")), (Some(root.join("sub").into()), None));
        assert_eq!(line_to_bring_back(Path::new("/a b"), Path::new("/w"), Some("x")), "git -C '/a b' worktree add -f /w x");
        assert_eq!(of(&root.join("plain")), (None, None));
    }
}
