#!/bin/sh
# TPM's entry: finds the helper, or has it built, and hands over to it. Runs at each load and reload, and must be quick.
root=$(CDPATH='' cd -- "${0%/*}" && pwd) || exit 0
# shellcheck source=scripts/helper.sh
. "$root/scripts/helper.sh" || exit 0

main() {
  # One call for both; the version comes first, and is all that a server which is too old gives.
  asked=$(tmux display-message -p '#{version}' \; show-options -gqv @sidecar-helper 2>/dev/null)
  version=${asked%%
*}
  [ -n "$version" ] || version=$(server_version)
  if is_too_old "$version"; then
    tell "sidecar: needs tmux 3.2 or newer, and this server is $version"
    return
  fi

  chosen=${asked#"$version"}
  chosen=${chosen#
}
  if [ -n "$chosen" ]; then
    case $chosen in \~/*) chosen=${HOME-}/${chosen#??} ;; esac
    if is_usable "$chosen"; then load "$chosen"; else tell "sidecar: the option @sidecar-helper: $(unusable "$chosen")"; fi
    return
  fi

  if is_built; then
    load "$built"
    return
  fi
  find_installed
  if [ -n "$other" ]; then
    load "$other"
    return
  fi
  # The old one works until the new one is built, and stays if that fails.
  for old in "$built" "$root/bin/sidecar"; do
    if is_usable "$old"; then
      load "$old"
      break
    fi
  done
  sh "$root/scripts/background-build" "$note" </dev/null >/dev/null 2>&1 &
}

main >/dev/null
