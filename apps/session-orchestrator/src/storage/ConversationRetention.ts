/**
 * Deletes conversations that ended long ago, by age and tag (rule X15).
 *
 * - A conversation is as old as the end of its newest turn; before the first turn, as its creation. One with a turn
 *   that has not ended stays.
 * - Running turns have priority: conversations go one by one, and the database is left alone between pages.
 */
import { Retention, type StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import type { Deletions } from "./Deletions.ts"
import type { Lists } from "./Lists.ts"
import type { Position } from "./ListPage.ts"

/** Which conversations are deleted, and how long after their end. */
interface Rule {
  readonly after: Duration.Duration
  /** Those with this tag; absent: all. */
  readonly tag?: string
}

/** The ports that a round uses. */
interface Dependencies {
  readonly lists: Pick<Lists["Service"], "conversations">
  readonly deletions: Deletions["Service"]
  /** Called with each conversation that was deleted. */
  readonly deleted: (id: Ids.ConversationId) => Effect.Effect<void>
}

/** Conversations of one page. */
const PAGE = 50

/** Runs a round at once and then one a day, without end. */
export const run = (dependencies: Dependencies, rules: ReadonlyArray<Rule>): Effect.Effect<never> => {
  const finite = rules.filter(({ after }) => Duration.isFinite(after))
  return finite.length === 0 ? Effect.never : Retention.daily("conversations", round(dependencies, finite))
}

/** Deletes the conversations that the rules name now. */
export const round = Effect.fnUntraced(function* (
  dependencies: Dependencies,
  rules: ReadonlyArray<Rule>
): Effect.fn.Return<void, StorageError> {
  let deleted = 0
  for (const rule of rules) deleted += yield* sweep(dependencies, rule)
  if (deleted === 0) return
  yield* dependencies.deletions.scrub
  yield* Effect.logInfo(`Deleted ${deleted} conversation(s) that ended long ago (database.deleteConversations).`)
})

// --- internal

const sweep = Effect.fnUntraced(function* (
  { deleted, deletions, lists }: Dependencies,
  { after: age, tag }: Rule
): Effect.fn.Return<number, StorageError> {
  const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(age)
  // Newer ones are no older than their creation. A list by tag is ordered by numbers, and read whole.
  const from: Position | undefined = tag === undefined ? { at: before, number: 0 } : undefined
  const batch = Effect.fnUntraced(function* (after: Position | undefined) {
    const { next, rows } = yield* lists.conversations({ tag }, after, PAGE)
    let forgotten = 0
    for (const { conversation, isBusy, lastEndedAt } of rows) {
      if (isBusy || (lastEndedAt ?? conversation.createdAt) >= before) continue
      const { conversationId } = conversation
      if ((yield* deletions.conversation(conversationId)) !== "deleted") continue
      yield* deleted(conversationId)
      forgotten++
    }
    return { forgotten, next }
  })
  return yield* Retention.sweep(batch, from)
})
