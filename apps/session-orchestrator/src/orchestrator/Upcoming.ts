/**
 * Computes the waits behind the retry that a turn waits for, from its records and its policy. Pure.
 *
 * Upcoming.U1. They are those of the same failure again and again, with attempts that take no time and a provider that names no time. Anything else
 *     gives a decision of its own when it happens.
 * Upcoming.U2. Where a router may choose another target there are none: its waits depend on what that target does.
 */
import { RecordedWait } from "@holdfast/journal"
import type { Records, RetryStrategy } from "@holdfast/kernel"
import { History as Account } from "@holdfast/kernel/host"
import { Basis, RetryPolicy } from "@holdfast/policy"
import { type ConversationState, defined, type Failure, Target } from "@holdfast/wire"
import { Option, Schema } from "effect"

/** More waits than a night has. */
const MOST = 32

/** The waits behind the present one; `undefined` where there is none, or where they do not follow from the policy alone. */
export const of = (
  policy: RetryPolicy.RetryPolicy,
  primary: Target.Target,
  records: ReadonlyArray<Records.Stored>
): ConversationState.Upcoming | undefined => {
  const wait = RecordedWait.of(records)
  if (wait === undefined || wait.asks !== undefined || hasOtherTargets(policy, primary)) return undefined // Upcoming.U2
  const { hint: _, ...failure } = wait.failure
  const delaysMs: Array<number> = []
  let spent = spentBy(wait, failure, records)
  for (let attempt = wait.attempt + 1; ; attempt++) {
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

const decodeBasis = Schema.decodeUnknownOption(Basis.Basis)

/** What the step has spent at the end of the present wait. */
const spentBy = (
  { retryAt }: RecordedWait.RecordedWait,
  { reason }: Omit<Failure.Failure, "hint">,
  records: ReadonlyArray<Records.Stored>
): RetryStrategy.Spent => {
  const { attempts, spending } = Account.of(records)
  const decision = attempts.at(-1)?.decision
  const basis = decision === undefined ? undefined : Option.getOrUndefined(decodeBasis(decision.basis))
  const own = spending.onReason
  return {
    sleptMs: spending.scheduledMs,
    elapsedMs: spending.firstFailureAt === undefined ? 0 : Math.max(0, retryAt - spending.firstFailureAt),
    extendedMs: spending.extendedMs,
    ...defined({
      onReason:
        own?.reason === reason && basis?.spent.onReason !== undefined
          ? {
              retries: basis.spent.onReason.retries + 1,
              sleptMs: own.scheduledMs,
              elapsedMs: Math.max(0, retryAt - own.firstFailureAt)
            }
          : undefined
    }),
    spread: 0
  }
}

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
