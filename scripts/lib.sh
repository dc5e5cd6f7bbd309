# shellcheck shell=sh
# What the scripts here share: words for errors, a usable cargo, and packages of the machine. To be sourced.

# Says what is wrong and ends the script.
die() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

# The folder of the checkout that the script $1 lies in.
checkout_of() {
  CDPATH='' cd -- "$(dirname -- "$1")/.." && pwd
}

# Puts the folder of the first cargo that is new enough in front of PATH, so that its rustc and its subcommands are found too.
# $1 is the checkout, whose Cargo.toml tells what is needed.
need_cargo() {
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$1/Cargo.toml")
  on_path=$(command -v cargo || :)
  too_old=
  for cargo in "${CARGO_HOME:+$CARGO_HOME/bin/cargo}" "${HOME:+$HOME/.cargo/bin/cargo}" "$on_path" \
    /usr/local/bin/cargo /opt/homebrew/bin/cargo; do
    if ! [ -x "$cargo" ]; then continue; fi
    # Of `cargo 1.85.0 (…)`; rustup's stand-in fails where no toolchain is chosen.
    found=$("$cargo" --version 2>/dev/null | awk 'NR == 1 { print $2 }')
    if is_at_least "$found" "$wanted"; then
      if [ "$cargo" != "$on_path" ]; then
        PATH=$(dirname -- "$cargo"):$PATH
        export PATH
      fi
      return 0
    fi
    [ -n "$too_old" ] || too_old="found ${found:-one that does not run} ($cargo)"
  done
  die "cannot build the helper: needs Rust $wanted or newer, ${too_old:-found none}" \
    'rustup installs the present one; looked in CARGO_HOME, ~/.cargo/bin, PATH, /usr/local/bin and /opt/homebrew/bin'
}

# Whether the version $1 is $2 or newer, by their first two numbers.
is_at_least() {
  awk -v have="$1" -v want="$2" 'BEGIN {
    split(have, h, "."); split(want, w, ".")
    exit !(h[1] + 0 > w[1] + 0 || (h[1] == w[1] && h[2] + 0 >= w[2] + 0))
  }'
}

# Installs the Debian packages of the programs that are missing. Each argument is PROGRAM:PACKAGE[,PACKAGE].
need_programs() {
  missing=''
  for pair; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing $(printf %s "${pair#*:}" | tr , ' ')"
  done
  [ -n "$missing" ] || return 0
  command -v apt-get >/dev/null 2>&1 || die "these are missing:$missing" "install them with this system's package manager"
  as_root='env'
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "these are missing:$missing" "as root: apt-get install$missing"
    as_root='sudo env'
  fi
  printf 'installing:%s\n' "$missing" >&2
  # shellcheck disable=SC2086 # a list of words
  set -- $missing
  # The package lists that are there may do; a machine that never fetched any, or long ago, needs new ones.
  apt_install "$@" >/dev/null 2>&1 && return 0
  { apt_run update && apt_install "$@"; } >&2 && return 0
  die "could not install:$missing" "as root: apt-get update; apt-get install$missing"
}

apt_install() {
  apt_run install -y --no-install-recommends "$@"
}

apt_run() {
  # shellcheck disable=SC2086 # a command and its first word
  $as_root DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null
}
