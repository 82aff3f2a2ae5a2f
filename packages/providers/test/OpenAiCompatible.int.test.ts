import { suite } from "./Conformance.ts"
import { openAiCompatible } from "./harness/Dialect.ts"

suite(openAiCompatible)
