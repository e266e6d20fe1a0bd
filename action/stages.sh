#!/usr/bin/env bash
# The stages of one job: stages.sh plan|cells|report|publish. Everything comes in through variables; nothing that a
# user or a test wrote becomes part of a command.
set -euo pipefail

out="${INPUT_OUTPUT:?}"

# GitHub cancels a job by signals to its shell alone, and a shell does not look at one while it waits for a command in
# front. So the tool runs in the background (where it would ignore interrupts without the `trap -`) and is told. It has
# a few seconds to end what it started, and no further command is begun.
tool() {
  local child status=0 stopped=false
  (trap - INT && exec "${TRITON_COMPAT:?}" "$@") &
  child=$!
  trap 'stopped=true; kill -TERM "$child" 2> /dev/null || true' INT TERM
  wait "$child" || status=$?
  while [[ $stopped == true ]]; do # a signal ended the waiting, not the tool
    stopped=over status=0
    wait "$child" || status=$?
  done
  trap - INT TERM
  [[ $stopped == false ]] || exit "$status"
  return "$status"
}

plan() {
  local options=(--out "$out" --github)
  local label
  while IFS= read -r label; do
    [[ -z "$label" ]] || options+=(--runner "$label")
  done <<< "${INPUT_RUNNER:-}"
  [[ "${INPUT_OFFLINE:-false}" != true ]] || options+=(--offline)
  [[ "${INPUT_FORK_APPROVED:-false}" != true ]] || options+=(--fork-approved)
  tool plan "${INPUT_MATRIX:?the input matrix names the matrix file}" "${options[@]}"
}

# Every cell is run whatever became of the one before. In the job of some cells a cell that does not pass fails the
# job, so that "Re-run failed jobs" runs it again; where one job does everything the verdict decides.
cells() {
  local options=(--out "$out")
  # Another machine made the plan, so its path of the project is not ours.
  [[ "${MODE:?}" == all ]] || options+=(--root "${GITHUB_WORKSPACE:?}/${PROJECT_ROOT:-}")
  [[ "${INPUT_OFFLINE:-false}" != true ]] || options+=(--offline)
  local cell status worst=0 failed=()
  for cell in ${CELLS:-}; do # ids hold no blanks: the plan sees to it
    status=0
    echo "::group::$cell"
    tool cell "$cell" "${options[@]}" || status=$?
    echo "::endgroup::"
    case $status in
      0) ;;
      1) echo "::notice title=triton-compat::$cell fails" ;;
      3) echo "::notice title=triton-compat::$cell has no result to tell" ;;
      *) echo "::error title=triton-compat::$cell could not be run (exit $status); see the log above" ;;
    esac
    [[ $status != 1 ]] || failed+=(--cell "$cell")
    ((status <= worst)) || worst=$status
  done
  look_into "${failed[@]}"
  [[ "$MODE" == all ]] || return "$worst"
}

# Why cells failed, one factor changed at a time. What is found goes with the results; that nothing could be found
# out changes no verdict.
look_into() {
  if (($# == 0)) || [[ "${INPUT_BUDGET:?}" == 0 ]]; then return 0; fi
  local time=(--budget "$INPUT_BUDGET")
  [[ -z "${INPUT_TOTAL_BUDGET:-}" ]] || time+=(--total-budget "$INPUT_TOTAL_BUDGET")
  echo "::group::experiments"
  tool experiment "$@" "${time[@]}" "${options[@]}" \
    || echo "::notice title=triton-compat::the failures could not be looked into; see the log above"
  echo "::endgroup::"
}

report() {
  [[ -z "${INPUT_DOWNLOADS:-}" ]] || tool gather "$INPUT_DOWNLOADS" --out "$out"
  # What came of an earlier run is beside the output folder and not in it, so that no artifact holds another.
  local before="${RUNNER_TEMP:?}/triton-compat-baseline" judged=(--out "$out") status=0
  tool baseline "${INPUT_BASELINE:?}" --out "$out" --into "$before" \
    || echo "::warning title=triton-compat::nothing to compare with was looked for; see the log above"
  [[ ! -f "$before/plan.json" ]] || judged+=(--baseline "$before")
  tool judge "${judged[@]}" || status=$?
  case $status in
    0 | 1 | 3) ;;
    *) exit "$status" ;;
  esac
  tool report --out "$out"
  publish
}

publish() {
  local options=(--out "$out" --comment "${INPUT_COMMENT:?}" --author "${INPUT_COMMENT_AUTHOR:?}")
  [[ "${INPUT_CHECK:-false}" != true ]] || options+=(--check)
  [[ "${INPUT_ANNOTATIONS:-true}" == true ]] || options+=(--no-annotations)
  [[ "${INPUT_STRICT:-false}" != true ]] || options+=(--strict)
  local status=0
  tool publish "${options[@]}" || status=$?
  # The end of another run only tells what that run's own job decided.
  if [[ "${MODE:?}" == publish ]] && ((status == 1 || status == 3)); then
    status=0
  fi
  return "$status"
}

case "${1:?}" in
  plan | cells | report | publish) "$1" ;;
  *) echo "::error title=triton-compat::There is no stage $1" && exit 11 ;;
esac
