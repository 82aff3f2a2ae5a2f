/**
 * Deletes conversations that ended long ago, by age and tag (rule X15).
 *
 * ConversationRetention.N1. A conversation is as old as the end of its newest turn; before the first turn, as its creation. One with a turn
 *     that has not ended stays.
 * ConversationRetention.N2. Running turns have priority: conversations go one by one, and the database is left alone between pages.
 * ConversationRetention.N3. A storage error ends one round; the round of the next day starts again.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import type { Deletions } from "./Deletions.ts"
import type { Lists, Position } from "./Lists.ts"

/** Which conversations are deleted, and how long after their end. */
export interface Rule {
  readonly after: Duration.Duration
  /** Those with this tag; absent: all. */
  readonly tag?: string
}

/** The ports that a round uses. */
export interface Dependencies {
  readonly lists: Pick<Lists["Service"], "conversations">
  readonly deletions: Deletions["Service"]
  /** Called with each conversation that was deleted. */
  readonly deleted: (id: Ids.ConversationId) => Effect.Effect<void>
}

/** The time between two rounds. */
export const INTERVAL = Duration.days(1)

/** The time between two pages. */
export const PAUSE = Duration.millis(50)

/** Conversations of one page. */
const PAGE = 50

/** Runs a round at once and then one a day, without end. */
export const run = (dependencies: Dependencies, rules: ReadonlyArray<Rule>): Effect.Effect<never> => {
  const finite = rules.filter(({ after }) => Duration.isFinite(after))
  return finite.length === 0
    ? Effect.never
    : Effect.andThen(round(dependencies, finite), Effect.sleep(INTERVAL)).pipe(Effect.forever)
}

/** Deletes the conversations that the rules name now. */
export const round = (dependencies: Dependencies, rules: ReadonlyArray<Rule>): Effect.Effect<void> =>
  Effect.gen(function* () {
    let deleted = 0
    for (const rule of rules) deleted += yield* sweep(dependencies, rule)
    if (deleted === 0) return
    yield* dependencies.deletions.scrub
    yield* Effect.logInfo(`Deleted ${deleted} conversation(s) that ended long ago (database.deleteConversations).`)
  }).pipe(
    Effect.catchTag("StorageError", ({ message }) =>
      Effect.logWarning(`Old conversations are kept for now. ${message}`)
    ) // N3
  )

// --- internal

const sweep = Effect.fnUntraced(function* (
  { deleted, deletions, lists }: Dependencies,
  { after, tag }: Rule
): Effect.fn.Return<number, StorageError> {
  const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(after)
  let count = 0
  // Newer ones are no older than their creation. A list by tag is ordered by numbers, and read whole.
  let position: Position | undefined = tag === undefined ? { at: before, number: 0 } : undefined
  for (;;) {
    const page = yield* lists.conversations({ tag }, position, PAGE)
    for (const { conversation, isBusy, lastEndedAt } of page.rows) {
      if (isBusy || (lastEndedAt ?? conversation.createdAt) >= before) continue // N1
      const { conversationId } = conversation
      if ((yield* deletions.conversation(conversationId)) !== "deleted") continue
      yield* deleted(conversationId)
      count++
    }
    if (page.next === undefined) return count
    position = page.next
    yield* Effect.sleep(PAUSE)
  }
})
