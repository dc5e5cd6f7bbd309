# shellcheck shell=sh
# Where the helper lies, what it was built from, and what tmux shows while there is none. To be sourced.

# The checkout.
: "${root:?}"

# What sidecar.tmux and the helper agree on. Raised, here and in the helper, when one of them no longer understands the other.
api=1

# A home may be shared by machines of several types; each has a helper of its own, and bin/sidecar is the one for people.
# shellcheck disable=SC2046 # two words
set_machine() {
  set -- $(uname -sm)
  machine=$1-$2
}
set_machine
built=$root/bin/sidecar-$machine

# Of the sources and the machine's type, so that a commit to the documents builds nothing anew.
stamp() {
  {
    printf '%s\n' "$machine"
    cd "$root" && find Cargo.toml Cargo.lock helper -type f ! -name '.*' ! -name '*~' -exec cksum {} + | LC_ALL=C sort
  } | cksum
}

# Whether the helper of this checkout is of the present sources, and runs.
is_built() {
  { read -r of <"$built.stamp"; } 2>/dev/null && [ "$of" = "$(stamp)" ] || return 1
  # A run bit that was lost on the way is no reason to build.
  [ -x "$built" ] || chmod u+x "$built" 2>/dev/null
  is_usable "$built"
}

# Whether the program $1 is a helper that this plugin understands.
is_usable() {
  [ "$("$1" plugin api </dev/null 2>/dev/null)" = "$api" ]
}

# Why the program $1 is not, in words.
unusable() {
  if ! [ -x "$1" ]; then
    echo "$1 is no program that can be run"
    return
  fi
  their_api=$("$1" plugin api </dev/null 2>/dev/null)
  case $their_api in
    '' | *[!0-9]*) echo "$1 is older than this plugin, or does not run: update it" ;;
    *)
      if [ "$their_api" -gt "$api" ]; then
        echo "$1 is newer than this plugin: update the plugin"
      else
        echo "$1 is older than this plugin: update it"
      fi
      ;;
  esac
}

# Sets $other to a usable helper on PATH, or where cargo and `plugin link` put one: the PATH of a tmux server is often poor. A link to
# this checkout's own does not count. $note tells of one that can't be used.
# shellcheck disable=SC2034 # for sidecar.tmux
find_installed() {
  other=
  note=
  own=$(CDPATH='' cd -- "$root" && pwd -P)
  for found in "$(command -v sidecar)" "${CARGO_HOME:-${HOME-}/.cargo}/bin/sidecar" "${HOME-}/.local/bin/sidecar"; do
    [ -x "$found" ] || continue
    case $(readlink -f -- "$found") in
      "$own"/*) continue ;;
    esac
    if is_usable "$found"; then
      other=$found
      return
    fi
    [ -n "$note" ] || note=$(unusable "$found")
  done
}

# Hands over to the helper $1. Prints its words for people; what went wrong is shown in tmux.
load() {
  if ! words=$("$1" plugin load 2>&1 </dev/null); then
    # Its first line is `error: …`.
    first=${words%%
*}
    tell "sidecar: ${first#error: }"
    return 1
  fi
  printf '%s\n' "$words"
}

# Shows a message: now if somebody is attached, else once to the next client. Until a helper takes over, the keys show it too.
tell() {
  # It is shown as a format, and stands in quotes in a hook: what means something there gives way.
  text=$(printf '%s' "$1" | LC_ALL=C tr -d "\`\"'" | tr ';' ',' | LC_ALL=C tr -c 'A-Za-z0-9 ./_~:,()<>=+@-\200-\377' '?')
  hook='client-session-changed[8421]'
  # tmux's own time is less than a second. Panes stand still meanwhile, so it is not much longer; any key ends it, and does its work.
  show='display-message -d 8000'
  if is_too_old "$(server_version)"; then
    show=display-message
  elif ! tmux show-environment -gh SIDECAR_TIMER >/dev/null 2>&1; then
    # No helper is loaded, whose keys work.
    keys_tell "$show" "$text"
  fi
  # First for the next client: one that comes at this very moment is then shown it one way or the other.
  tmux set-hook -g "$hook" "if-shell -F '#{client_control_mode}' '' \"set-hook -gu '$hook' ; $show '$text'\""
  if [ -n "$(tmux list-clients -F '#{?client_control_mode,,x}' 2>/dev/null)" ]; then
    # shellcheck disable=SC2086 # a command and its options
    tmux set-hook -gu "$hook" \; $show "$text"
  fi
}

# The keys that a helper would bind: they must not do nothing. One that somebody else holds stays his, unless the user chose it.
keys_tell() {
  ours=$(tmux show-environment -gh SIDECAR_KEYS 2>/dev/null)
  ours=" ${ours#SIDECAR_KEYS=} "
  for pair in restore:R rename:N; do
    key=$(tmux show-options -gqv "@sidecar-${pair%:*}-key" 2>/dev/null)
    [ "$key" != none ] || continue
    if [ -z "$key" ]; then
      key=${pair#*:}
      # What it does now. Asked for a single key, 3.7 tells nothing.
      bound=$(tmux list-keys -T prefix 2>/dev/null | grep -e "-T prefix  *$key ")
      case "$ours:$bound" in
        *:) ;;
        *" $key "*:*"'--client' '#{client_name}'"* | *" $key "*:*'display-message -d 8000'*'sidecar: '*) ;;
        *) continue ;;
      esac
    fi
    # shellcheck disable=SC2086 # a command and its options
    tmux bind-key -N 'What sidecar waits for' "$key" $1 "$2"
    case $ours in *" $key "*) ;; *) ours="$ours$key " ;; esac
  done
  tmux set-environment -gh SIDECAR_KEYS "$ours"
}

# Before 3.2 a server that has no session yet, as tmux.conf finds it, does not answer; then its client's version is its own.
server_version() {
  version=$(tmux display-message -p '#{version}' 2>/dev/null)
  [ -n "$version" ] || version=$(tmux -V 2>/dev/null)
  printf '%s\n' "${version#tmux }"
}

is_too_old() {
  case $1 in
    [012].* | 3.[01] | 3.[01][a-z-]*) return 0 ;;
    *) return 1 ;;
  esac
}
