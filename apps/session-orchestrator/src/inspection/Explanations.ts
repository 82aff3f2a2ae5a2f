/** Explains turns to clients of the service (rule X9). */
import type { Interruptions, StorageError } from "@holdfast/journal"
import type { Ids, TurnCourse, TurnExplanation } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Secrets } from "../redaction/Secrets.ts"
import { ConversationNotFound } from "../conversation/Conversations.ts"
import type { Journal } from "../storage/EventJournal.ts"
import { Store } from "../storage/Store.ts"
import * as Course from "./Course.ts"
import * as StoredTurn from "./StoredTurn.ts"
import * as Explanation from "./Explanation.ts"
import { TurnNotFound } from "../conversation/TurnNotFound.ts"

/** Explains stored turns. */
export class Explanations extends Context.Service<
  Explanations,
  {
    /** Explains a turn of a conversation until now. */
    readonly explain: (
      conversationId: Ids.ConversationId,
      turnId: Ids.TurnId
    ) => Effect.Effect<TurnExplanation.TurnExplanation, ConversationNotFound | TurnNotFound | StorageError>
    /** The courses of turns until now, without those that are not known. */
    readonly courses: (
      turnIds: ReadonlyArray<Ids.TurnId>
    ) => Effect.Effect<ReadonlyArray<TurnCourse.TurnCourse>, StorageError>
  }
>()("@holdfast/session-orchestrator/inspection/Explanations") {}

/** Turns that are read at once for their courses. */
const AT_ONCE = 8

/** Explains turns from the stored data. */
export const layer: Layer.Layer<Explanations, never, Store | Journal | Interruptions.Interruptions | Secrets> =
  Layer.effect(
    Explanations,
    Effect.gen(function* () {
      const store = yield* Store
      const read = yield* StoredTurn.reader
      const readOutline = yield* StoredTurn.outlineReader
      const { redact } = yield* Secrets

      const courseOf = Effect.fnUntraced(function* (turnId: Ids.TurnId, deaths: ReadonlyArray<number>) {
        const evidence = Option.getOrUndefined(yield* readOutline(turnId))
        return evidence && Course.of(Explanation.of({ ...evidence, deaths }, redact), yield* Clock.currentTimeMillis)
      })

      return {
        courses: Effect.fn("Explanations.courses")(function* (turnIds) {
          const deaths = yield* store.deaths(0)
          const courses = yield* Effect.forEach(turnIds, (turnId) => courseOf(turnId, deaths), { concurrency: AT_ONCE })
          return courses.filter((course) => course !== undefined)
        }),
        explain: Effect.fn("Explanations.explain")(function* (conversationId, turnId) {
          const evidence = Option.getOrUndefined(yield* read(turnId))
          if (evidence?.turn.conversationId === conversationId) return Explanation.of(evidence, redact)
          const conversation = yield* store.conversation(conversationId)
          return yield* Option.isNone(conversation)
            ? new ConversationNotFound({ conversationId })
            : new TurnNotFound({ conversationId, turnId })
        })
      }
    })
  )
