/** Stops a service and starts it again over the same database, in one process. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Clock, Effect, Logger } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

describe("a start with turns to take up", () => {
  It.live("rule X1: logs its progress if it takes longer than two seconds", function* () {
    const { provider, start } = yield* setup
    provider.fallback(ProcessSetup.overloaded)
    const first = yield* start
    yield* waiting(first)
    yield* waiting(first)
    yield* first.stop
    const lines: Array<string> = []
    let now = Date.now()
    // Each look at the clock is a second later than the one before.
    const slow: Clock.Clock = Object.create(yield* Clock.Clock, {
      currentTimeMillisUnsafe: { value: () => (now += 1_000) }
    })
    const second = yield* start.pipe(
      Effect.provideService(Clock.Clock, slow),
      Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
    )
    yield* second.stop
    const progress = lines.filter((line) => line.startsWith("Taking up unfinished turns"))
    assert.match(progress[0] ?? "", /: \d+ s so far, \d of 2 read\.$/)
    assert.match(progress.at(-1) ?? "", /: done after \d+ s\.$/)
  })
})

const setup = Effect.gen(function* () {
  const database = yield* TemporaryFile.temporaryFile
  const provider = yield* ScriptedServer.start()
  return { provider, start: Service.start({ provider, database, retry: Service.LONG }) }
})

/** A turn whose wait has been announced. */
const waiting = Effect.fnUntraced(function* (service: Effect.Success<ReturnType<typeof Service.start>>) {
  const id = yield* service.create()
  yield* (yield* service.open(ProcessSetup.request(id, id))).until("provider-retry")
})
