import { suite } from "./Conformance.ts"
import { anthropicMessages } from "./harness/Dialect.ts"

suite(anthropicMessages)
