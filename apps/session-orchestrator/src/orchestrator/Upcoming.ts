/**
 * Computes the waits behind the retry that a turn waits for, from its records and its policy. Pure.
 *
 * Upcoming.U1. They are those of the same failure again and again, with attempts that take no time and a provider that names no time. Anything else
 *     gives a decision of its own when it happens.
 * Upcoming.U2. Where a router may choose another target there are none: its waits depend on what that target does.
 */
import type { Records, RetryStrategy } from "@holdfast/kernel"
import { History, Spending } from "@holdfast/kernel/host"
import { RetryPolicy } from "@holdfast/policy"
import { type ConversationState, defined, Target } from "@holdfast/wire"

/** More waits than a night has. */
const MOST = 32

/** The waits behind the present one; `undefined` where there is none, or where they do not follow from the policy alone. */
export const of = (
  policy: RetryPolicy.RetryPolicy,
  primary: Target.Target,
  records: ReadonlyArray<Records.Stored>
): ConversationState.Upcoming | undefined => {
  const history = History.of(records)
  const { wait } = history
  if (wait?.failure === undefined || wait.asks !== undefined || hasOtherTargets(policy, primary)) return undefined // Upcoming.U2
  const { hint: _, ...failure } = wait.failure
  const delaysMs: Array<number> = []
  let spent = Spending.spentAt(History.spendingAfterWait(history), failure, wait.retryAt, 0)
  for (let attempt = wait.retry + 1; ; attempt++) {
    const decision = RetryPolicy.decide(policy, attempt, failure, spent)
    if (decision._tag === "Refused") return { delaysMs, ...jitterOf(policy), because: decision.because }
    if (delaysMs.length === MOST) return { delaysMs, ...jitterOf(policy) }
    delaysMs.push(decision.delayMs)
    spent = after(spent, decision.delayMs)
  }
}

// --- internal

const hasOtherTargets = ({ routing }: RetryPolicy.RetryPolicy, primary: Target.Target): boolean =>
  routing.type === "round-robin"
    ? routing.targets.some((target) => Target.format(target) !== Target.format(primary))
    : Object.values(routing.chains).some((chain) => chain.length > 0)

const jitterOf = ({ jitter }: RetryPolicy.RetryPolicy) =>
  defined({ jitter: jitter.factor > 0 ? jitter.factor : undefined })

const after = (spent: RetryStrategy.Spent, delayMs: number): RetryStrategy.Spent => ({
  ...spent,
  sleptMs: spent.sleptMs + delayMs,
  elapsedMs: spent.elapsedMs + delayMs,
  ...defined({
    onReason: spent.onReason && {
      retries: spent.onReason.retries + 1,
      sleptMs: spent.onReason.sleptMs + delayMs,
      elapsedMs: spent.onReason.elapsedMs + delayMs
    }
  })
})
