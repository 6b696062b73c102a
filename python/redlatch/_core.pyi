# The compiled module, which cffi generates; what it holds stands in redlatch.h.
# SPDX-License-Identifier: Apache-2.0
from typing import Any

ffi: Any
lib: Any
