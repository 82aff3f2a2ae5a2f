/**
 * Retry decisions without a turn: a schedule, a refusal, a provider's delay and a policy as a port of the kernel.
 *
 * Run it: `npx pnpm@12 exec node examples/src/07-decide.ts`
 */
// #region decide
import { Classification, Hint, Profile, RetryPolicy, RetryStrategies } from "@holdfast/policy"

const policy = Profile.resolve({ profile: "overnight", budget: { clip: true } })
const now = Date.now()

RetryPolicy.delay(policy, 0) // 5000
RetryPolicy.delay(policy, 21) // 1695000: what is left of 8 hours
RetryPolicy.decide(policy, 22) // { _tag: "Refused", because: "budget", delayMs: 1800000 }

const headers = { "retry-after": "90" }
Hint.find({ headers, body: "", now }) // { retryAfterMs: 90000, source: "retry-after" }

const failure = Classification.ofResponse({ status: 529, headers, body: "", now })
RetryPolicy.decide(policy, 0, failure) // { _tag: "Delay", delayMs: 90000, … }: a hint lengthens a wait

/** The port of the kernel: this policy decides, the given function waits. */
const strategy = RetryStrategies.layer(policy, RetryStrategies.sleepInMemory)
// #endregion decide
console.log(RetryPolicy.delay(policy, 0), RetryPolicy.delay(policy, 21), RetryPolicy.decide(policy, 22))
console.log(Hint.find({ headers, body: "", now }), RetryPolicy.decide(policy, 0, failure), typeof strategy)
