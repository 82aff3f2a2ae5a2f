/** `FailingProvider` as a process of its own; prints its port. */
import * as FailingProvider from "./FailingProvider.ts"

console.log((await FailingProvider.start()).port)
