/**
 * A turn on an engine of one's own: the machine names what is to be done, the program does it and records what came of it.
 *
 * Run it: `npx pnpm@12 exec node examples/src/05-drive-it-yourself.ts`
 */
import { Machine, Records } from "@holdfast/kernel"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { setTimeout } from "node:timers/promises"

let calls = 0

/** Is overloaded once, then answers. A real one would send `request.messages` to your model. */
async function myModel(): Promise<string> {
  if (calls++ === 0) throw new Error("Overloaded")
  return "Still here."
}

async function callOf(): Promise<Records.AttemptOutcome> {
  const said = { content: [], spread: 0, contentSeen: false }
  try {
    const text = await myModel()
    return { _tag: "Completed", content: [{ type: "text", text }], finishReason: "stop", endedAt: Date.now() }
  } catch (error) {
    const failure = { reason: "overloaded", message: String(error), retryable: true } as const
    return { _tag: "Failed", ...said, failure, endedAt: Date.now() }
  }
}

/** Performs a command, and gives the one record that it ends in. */
async function perform(command: Machine.Command): Promise<Records.TurnRecord> {
  const { number, step } = command
  switch (command._tag) {
    case "Call":
      return { kind: "Attempt", step, number, value: await callOf() }
    case "Decide": {
      const attempt = command.situation.retries
      const retry = { _tag: "Retry", attempt, delayMs: 100, retryAt: Date.now() + 100 } as const
      return { kind: "Decision", step, number, value: attempt < 3 ? retry : { _tag: "GiveUp", because: "exhausted" } }
    }
    case "Wait":
      await setTimeout(Math.max(0, command.wait.retryAt - Date.now()))
      return { kind: "Wake", step, number, value: { type: "elapsed", at: Date.now() } }
    case "Seal":
      return { kind: "Seal", step, number, value: { at: Date.now() } }
    default: // What the turn is not offered below it does not ask for.
      throw new Error(`${command._tag} is not offered`)
  }
}

/** What is left when a process dies: the records, and the events by their positions. */
const records: Array<Records.Stored> = []
const events: Array<TurnEvent.PersistedEvent> = []

// #region live
/** One life of the turn, over what earlier ones recorded. */
async function live(facts: Machine.TurnFacts, mostRecords = Infinity): Promise<void> {
  const known = records.map((stored) => Records.parse(stored)).filter((record) => record !== undefined)
  let ledger = known.reduce(Machine.evolve, Machine.start(facts))
  for (;;) {
    const next = Machine.next(ledger, { tools: [], hasRouter: false, hasStrategy: true, hasCompactor: false })
    for (const emission of next.emissions) {
      if (emission._tag === "Persist") events.splice(emission.position, emission.events.length, ...emission.events)
    }
    const [command] = next.commands // without tools there is one at most
    if (command === undefined || records.length >= mostRecords) return
    const record = await perform(command)
    records.push({ name: Records.nameOf(record.kind, record.step, record.number), value: JSON.stringify(record.value) })
    ledger = Machine.evolve(next.ledger, record)
  }
}
// #endregion live

const facts: Machine.TurnFacts = {
  conversationId: Ids.ConversationId.make("demo"),
  turnId: Ids.TurnId.make("turn-1"),
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "Are you there?",
  startedAt: Date.now()
}

await live(facts, 2)
console.log("died behind", records.at(-1)?.name)
await live(facts)
console.log(records.map(({ name }) => name).join(" "))
console.log(events.map(({ type }) => type).join(" "))
