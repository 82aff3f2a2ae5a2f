/** Runs a crowd of turns against one endpoint with little room, under a test clock. */
import { Timer } from "@holdfast/journal"
import type { Provider } from "@holdfast/kernel"
import { type Failure } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Condition from "../../../src/base/system/Condition.ts"
import { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import { Defaults } from "../../../src/engine/conversation/Defaults.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import * as Orchestrator from "../../../src/engine/orchestrator/Orchestrator.ts"
import { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as Tools from "../../../src/engine/conversation/Tools.ts"
import * as GateTable from "../../../src/storage/tables/GateTable.ts"
import type * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"

/** From a call to its refusal, or to its first content. */
export const LATENCY_MS = 1_000
/** From a call to the end of its answer. */
export const SERVICE_MS = 10_000

/** Whether a call at `now`, with `busy` others in progress, is answered. */
export type Answers = (now: number, busy: number) => boolean

type Events = ReturnType<Provider.Provider["Service"]["stream"]>

const answer = (finish: Effect.Effect<Provider.ProviderEvent>): Events =>
  Stream.concat(Stream.succeed({ type: "text-delta", delta: "At last" }), Stream.fromEffect(finish))

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

const refusal: Events = Stream.succeed({ type: "error", failure: overloaded })

/** An endpoint that counts its calls. */
export class CrowdedEndpoint {
  /** The calls that were refused. */
  refused = 0
  /** The ends of complete answers, in epoch milliseconds. */
  readonly ends: Array<number> = []
  private busy = 0
  private readonly answers: Answers

  constructor(answers: Answers) {
    this.answers = answers
  }

  get answered(): number {
    return this.ends.length
  }

  /** The end of the last complete answer; 0: there is none. */
  get doneAt(): number {
    return this.ends.at(-1) ?? 0
  }

  readonly provider: Provider.Provider["Service"] = {
    stream: () =>
      Stream.unwrap(
        Effect.gen({ self: this }, function* () {
          const at = yield* Clock.currentTimeMillis
          const isAnswered = this.answers(at, this.busy)
          if (!isAnswered) this.refused++
          if (isAnswered)
            yield* Effect.acquireRelease(
              Effect.sync(() => this.busy++),
              () => Effect.sync(() => this.busy--)
            )
          yield* Effect.sleep(LATENCY_MS)
          if (!isAnswered) return refusal
          const finish = Effect.gen({ self: this }, function* () {
            yield* Effect.sleep(SERVICE_MS - LATENCY_MS)
            this.ends.push(yield* Clock.currentTimeMillis)
            return { type: "finish", finishReason: "stop" } as const
          })
          return answer(finish)
        })
      )
  }
}

const endpointOf = () => ({ baseUrl: "http://crowded", credential: "KEY" })

/** Starts a service before the endpoint, with the gates of others on the database in the context, until the scope closes. */
export const start = Effect.fnUntraced(function* (endpoint: CrowdedEndpoint) {
  const scope = yield* Scope.Scope
  const resources = Layer.mergeAll(
    Layer.succeed(Providers, {
      get: () => endpoint.provider,
      names: ["test"],
      unusable: () => undefined,
      credentials: {}
    }),
    Layer.succeed(Defaults, { model: { provider: "test", model: "m" }, retry: {}, models: {} }),
    Gates.layerShared(endpointOf),
    Tools.layerNoop,
    Condition.layer
  ).pipe(Layer.provideMerge(Timer.layer))
  const context = yield* Layer.buildWithScope(Layer.fresh(Orchestrator.layer.pipe(Layer.provide(resources))), scope)
  return { conversations: Context.get(context, Conversations) }
})

/**
 * Runs a test over a database in memory. Its clock waits for the work at one time, however long the machine takes: the usual test clock
 * goes on after a second, and a crowd's calls would come at other times.
 */
export const onDisk = <A, E>(test: Effect.Effect<A, E, Scope.Scope | SqlStore.Storage | GateTable.GateTable>) =>
  test.pipe(
    Effect.scoped,
    Effect.provide(
      GateTable.layer(":memory:").pipe(
        Layer.provideMerge(MemoryStore.withClient),
        Layer.provideMerge(TestClock.layer({ warningDelay: "1 hour" }))
      )
    )
  )
