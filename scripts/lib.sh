# What the scripts share; sourced by them. A script begins with a comment block, which is its --help.
set -euo pipefail
script=$(realpath "$0")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '==> %s\n' "$*" >&2; }

# Prints the comment block at the head of the running script when the first argument asks for it.
help_if_asked() {
  case "${1:-}" in
    -h | --help)
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"
      exit 0
      ;;
  esac
}

no_arguments() {
  if [ $# -gt 0 ]; then
    printf '%s: unknown argument %s (see --help)\n' "${script##*/}" "$1" >&2
    exit 2
  fi
}

# Configures and builds one preset: build_preset PRESET [TARGET…].
build_preset() {
  local preset=$1
  shift
  cmake --preset "$preset" >&2
  cmake --build --preset "$preset" ${1+--target "$@"} >&2
}
