import { suite } from "./Conformance.ts"
import { gemini } from "./harness/NativeDialects.ts"

suite(gemini)
