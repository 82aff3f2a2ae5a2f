/**
 * Schema of the report on endpoints: what is known of each now, and its calls of the last hour.
 *
 * Times are in epoch milliseconds. An endpoint is a model that is called with one credential of its provider.
 */
import * as Schema from "effect/Schema"
import { Reason } from "./Failure.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

const Count = Schema.Int

/** What is known of an endpoint in one word, the first that holds. */
export const EndpointState = Schema.Literals(["paused", "failing", "recovering", "answering", "idle"]).annotate({
  description:
    "`paused`: turns skip it for a while. `failing`: its last call failed. `recovering`: it answers again, and not all waiting turns are let through yet. `answering`: its last call was answered. `idle`: nothing is known against it, and it had no call in the last hour."
})
export type EndpointState = typeof EndpointState.Type

/** The gate of an endpoint: which waiting turns may call it (X5). */
export const GateReport = Schema.Struct({
  phase: Schema.Literals(["open", "shut", "ramp"]).annotate({
    description:
      "`open`: no failure of the endpoint is known. `shut`: it fails. `ramp`: it answers again, and the waiting turns are let through one after the other."
  }),
  waiting: Count.annotate({ description: "Turns that wait for it." }),
  held: Count.annotate({ description: "Of those, turns whose wait is over and that are not let through yet." }),
  underway: Count.annotate({ description: "Retries that were let through and have not ended." }),
  room: Schema.optionalKey(
    Count.annotate({ description: "Retries that may be under way at once; absent: the gate is open." })
  ),
  nextTryAt: Schema.optionalKey(
    Timestamp.annotate({ description: "When the next waiting turn calls at the latest; absent: none waits for it." })
  ),
  words: Schema.String.annotate({ description: "Who is let through, in a sentence." })
})
export type GateReport = typeof GateReport.Type

/** A failed call, or a failure that another process found. */
export const LastFailure = Schema.Struct({
  at: Timestamp,
  reason: Reason,
  code: Schema.optionalKey(Schema.String.annotate({ description: "The HTTP status, or the provider's code." })),
  message: Schema.String.annotate({ description: "Of the provider, without secrets." }),
  askedUntil: Schema.optionalKey(
    Timestamp.annotate({
      description: "Until when the provider asked not to be called: the reset of a limit or a quota."
    })
  )
})
export type LastFailure = typeof LastFailure.Type

/** A time in which turns skip an endpoint (C12, P7, P8). */
export const PauseReport = Schema.Struct({
  of: Schema.Literals(["target", "model", "credential", "account"]).annotate({
    description:
      "What is paused. `target`: this model, with every credential: its cooldown. `model`: this model, with this credential. `credential`: the quota of this credential is used up; its other models are tried once. `account`: every model of this credential."
  }),
  credential: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "With a client's own key: the account whose calls skip it, as in `windows`. Calls of other accounts do not."
    })
  ),
  since: Schema.optionalKey(Timestamp),
  until: Timestamp.annotate({ description: "Its end: the reset of a quota, or the end of a cooldown." }),
  reason: Reason,
  isAsked: Schema.Boolean.annotate({ description: "Whether the provider named the end." })
})
export type PauseReport = typeof PauseReport.Type

/** The length of a part of the last hour. */
export const PART_MS = 300_000
/** The parts of the last hour. */
export const PARTS = 12

/** The calls of the last hour. */
export const HourlyCalls = Schema.Struct({
  calls: Count,
  failed: Count.annotate({ description: "Of those, calls that failed." }),
  parts: Schema.Struct({ calls: Schema.Array(Count), failed: Schema.Array(Count) }).annotate({
    description: `The same in ${PARTS} parts of ${PART_MS / 60_000} minutes, the oldest first; the last one ends in this minute.`
  })
})
export type HourlyCalls = typeof HourlyCalls.Type

/** One endpoint. */
export const EndpointReport = Schema.Struct({
  target: Schema.String.annotate({ description: "`provider/model`." }),
  credential: Schema.optionalKey(
    Schema.String.annotate({ description: "The variable of its key, never the key; absent: it needs none." })
  ),
  address: Schema.optionalKey(Schema.String.annotate({ description: "The provider's base URL, without secrets." })),
  state: EndpointState,
  gate: Schema.optionalKey(
    GateReport.annotate({ description: "Absent: it has none, as it is simulated or `gate.enabled` is false." })
  ),
  pauses: Schema.Array(PauseReport),
  lastHour: HourlyCalls,
  lastAnswerAt: Schema.optionalKey(Timestamp),
  lastFailure: Schema.optionalKey(LastFailure),
  elsewhere: Schema.optionalKey(
    Schema.Struct({ answeredAt: Schema.optionalKey(Timestamp), failure: Schema.optionalKey(LastFailure) }).annotate({
      description: "What the runners on the database know of it together; absent: there is one process."
    })
  )
})
export type EndpointReport = typeof EndpointReport.Type

/** A limit and what is used of it. */
const Used = Schema.Struct({ used: Schema.Finite, limit: Schema.Finite })

/** The configured limits of a provider, and what all runners use of them. */
export const LimitReport = Schema.Struct({
  provider: Schema.String,
  waiting: Count.annotate({ description: "Calls of this process that wait for a permit." }),
  calls: Schema.optionalKey(Used.annotate({ description: "Calls at once." })),
  requestsPerMinute: Schema.optionalKey(Used.annotate({ description: "Calls that began in the last minute." })),
  tokensPerMinute: Schema.optionalKey(Used.annotate({ description: "Tokens that were charged in the last minute." }))
})
export type LimitReport = typeof LimitReport.Type

/** A limit of a credential, as the provider's answers have it. */
export const WindowReport = Schema.Struct({
  provider: Schema.String,
  credential: Schema.String.annotate({
    description: "The variable of the key, or a digest of the client's account: never a credential."
  }),
  name: Schema.String.annotate({ description: "As the provider names it: `5h`, `7d`, `requests`." }),
  used: Schema.Finite.annotate({ description: "From 0 to 1, all of it." }),
  resetAt: Schema.optionalKey(Timestamp.annotate({ description: "When it begins anew, if the provider named it." })),
  at: Timestamp.annotate({ description: "Of the answer." })
})
export type WindowReport = typeof WindowReport.Type

/** The report on endpoints. */
export const Health = Schema.Struct({
  at: Timestamp,
  countedSince: Timestamp.annotate({
    description: "When this process began to count calls, or an hour ago: the later of both."
  }),
  runner: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "The runner that reports. Its gates and calls are its own; pauses, limits and `elsewhere` are those of all runners. Absent: there is one process."
    })
  ),
  endpoints: Schema.Array(EndpointReport),
  limits: Schema.Array(LimitReport),
  boundCalls: Count.annotate({
    description:
      "Calls through the gateway that wait here and whose programs do not ask again: they end with this process."
  }),
  windows: Schema.Array(WindowReport).annotate({
    description:
      "The limits of the credentials of calls through the gateway that this process has seen, the most used first."
  })
})
export type Health = typeof Health.Type
