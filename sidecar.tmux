#!/bin/sh
# TPM's entry: finds the helper and hands over to it. Runs at each load and reload, and must be quick.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 0

# Shows one message: now if somebody is attached, else once, to the first client that comes.
say() {
  if [ -n "$(tmux list-clients -F x 2>/dev/null)" ]; then
    tmux display-message "$1"
  else
    tmux set-hook -g 'client-session-changed[8421]' "set-hook -gu 'client-session-changed[8421]' ; display-message '$1'"
  fi
}

version=$(tmux display-message -p '#{version}' 2>/dev/null)
# Before 3.2 a server that has no session yet, as tmux.conf finds it, does not answer; then its client's version is its own.
[ -n "$version" ] || version=$(tmux -V 2>/dev/null)
version=${version#tmux }
case $version in
  [012].* | 3.[01] | 3.[01][a-z-]*)
    say "sidecar: needs tmux 3.2 or newer, and this server is $version"
    exit 0
    ;;
esac

helper=$(tmux show-options -gqv @sidecar-helper 2>/dev/null)
if [ -z "$helper" ]; then
  if [ -x "$here/bin/sidecar" ]; then
    helper=$here/bin/sidecar
  else
    helper=$(command -v sidecar) || helper=
  fi
fi
if [ -n "$helper" ] && ! [ -x "$helper" ]; then
  say 'sidecar: the option @sidecar-helper names no program that can be run'
  exit 0
fi
if [ -z "$helper" ]; then
  say 'sidecar: the helper is missing: run scripts/build in the plugin folder, then reload tmux.conf'
  exit 0
fi
"$helper" plugin load >/dev/null 2>&1 || say 'sidecar: the helper could not start recording: run it by hand, with plugin load, to see why'
