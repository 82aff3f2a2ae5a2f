/**
 * A turn without an interpreter: the machine names what is next, and each answer goes in as a record.
 *
 * Run it: `npx pnpm@12 exec node examples/src/06-a-turn-as-a-value.ts`
 */
// #region value
import { Machine, type Records } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"

const offers: Machine.Offers = { tools: [], hasRouter: false, hasStrategy: true, hasCompactor: false }

const records: ReadonlyArray<Records.TurnRecord> = [
  {
    kind: "Attempt",
    step: 0,
    number: 0,
    value: {
      _tag: "Failed",
      content: [],
      failure: { reason: "overloaded", message: "Overloaded", retryable: true },
      contentSeen: false,
      spread: 0,
      endedAt: 1_000
    }
  },
  {
    kind: "Decision",
    step: 0,
    number: 0,
    value: { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 6_000 }
  }
]

let ledger = Machine.start({
  conversationId: Ids.ConversationId.make("demo"),
  turnId: Ids.TurnId.make("turn-1"),
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "Are you there?",
  startedAt: 0
})
for (const record of records) {
  console.log(Machine.next(ledger, offers).commands.map(({ _tag }) => _tag)) // [ 'Call' ], then [ 'Decide' ]
  ledger = Machine.evolve(ledger, record)
}
console.log(Machine.next(ledger, offers).commands.map(({ _tag }) => _tag)) // [ 'Wait' ]
// #endregion value
