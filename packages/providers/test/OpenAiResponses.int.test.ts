import { suite } from "./Conformance.ts"
import { openAiResponses } from "./harness/NativeDialects.ts"

suite(openAiResponses)
