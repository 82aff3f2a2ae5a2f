/**
 * A turn on a SQLite file, whose process is killed while it waits; a second process resumes it.
 *
 * Run it: `npx pnpm@12 exec node examples/src/11-survive-a-kill.ts`
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const [, program = "", path = "", model] = process.argv

/** Fails in the first process, and answers in the second. A real one would call your model. */
async function* myModel(): AsyncIterable<Provider.ProviderEvent> {
  if (model === "down") throw Object.assign(new Error("Overloaded"), { status: 529 })
  yield { type: "text-delta", delta: "Still here." }
  yield { type: "finish", finishReason: "stop" }
}

// #region survive
import { JournalCheckpoint } from "@holdfast/journal"
import { SqliteJournal } from "@holdfast/journal/sqlite"
import { EventSink, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { FromAsyncIterable } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"

const turnId = Ids.TurnId.make("turn-1")

const turn = Turn.runTurn({
  conversationId: Ids.ConversationId.make("demo"),
  turnId,
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "Are you there?",
  startedAt: 0 // prompt, history and time must be the same in every life of the turn: store them
}).pipe(
  Effect.provide([
    Layer.succeed(Provider.Provider, FromAsyncIterable.fromAsyncIterable(myModel)),
    Layer.succeed(EventSink.EventSink, { live: ({ type }) => console.log(type), persist: () => Effect.void }),
    RetryStrategies.layer(Profile.resolve({ profile: "interactive" }), RetryStrategies.sleepInMemory),
    Toolbox.layerNoop,
    Layer.provide(JournalCheckpoint.layer(turnId), SqliteJournal.layer({ path }))
  ])
)
// #endregion survive

if (model === undefined) {
  const file = join(mkdtempSync(join(tmpdir(), "holdfast-")), "turns.db")
  const start = (model: string) =>
    spawn(process.execPath, [program, file, model], { stdio: ["ignore", "pipe", "inherit"] })
  const first = start("down")
  for await (const text of first.stdout) if (String(text).includes("provider-retry")) first.kill("SIGKILL") // it waits
  console.log("killed while it waited")
  const second = start("up")
  second.stdout.pipe(process.stdout)
  await once(second, "exit")
} else {
  const end = await Effect.runPromise(turn)
  console.log(`${end.status} after ${end.attempts} attempts`)
}
