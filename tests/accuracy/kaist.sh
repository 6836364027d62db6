#!/bin/sh
# SPDX-License-Identifier: MIT
# Accuracy on all sequences of KAIST-VIO in a folder, beside what papers and peers say of them: tests/accuracy/kaist.sh --help
exec "${PYTHON:-python3}" "$(dirname "$0")/sequences.py" kaist "$@"
