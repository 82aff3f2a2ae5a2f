/**
 * Reads the list of conversations, with the newest turn of each, every few seconds while the page is visible.
 *
 * Two calls have most of it: the conversations, and the newest turns of all. A conversation whose newest turn is older needs a call of its own.
 */
import type { ConversationState, TurnState } from "@holdfast/wire"
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"
import type { ShownTurn } from "./ConversationStatus.ts"

/** The newest turn of a conversation: what the list shows, and what commands need. */
export type NewestTurn = ShownTurn & Pick<TurnState.TurnState, "conversationId" | "model">

/** The conversations that a person looks for. */
export interface Filter {
  readonly search: string
  readonly tag: string | undefined
  /** The most conversations. */
  readonly most: number
}

/** An entry of the list. */
export interface Entry {
  readonly conversation: ConversationState.ConversationSummary
  readonly turn: NewestTurn | undefined
}

/** The entries, and whether there are more. */
export interface Entries {
  readonly entries: ReadonlyArray<Entry>
  readonly hasMore: boolean
}

const EVERY_MS = 2_000

/** Conversations that are shown at first, and more at each request. */
export const PAGE = 40

/** What the list shows at first. */
export const FIRST: Filter = { search: "", tag: undefined, most: PAGE }

/** How the entries that match a filter are read, newest first. */
export const list = (filter: Filter) =>
  queryOptions({
    queryKey: ["conversations", filter],
    queryFn: ({ signal }) => read(filter, signal),
    // A list that was read before the page was drawn is not read again at once.
    staleTime: EVERY_MS / 2
  })

/** The entries that match a filter, newest first. */
export const useConversations = (filter: Filter) =>
  useQuery({
    ...list(filter),
    refetchInterval: EVERY_MS,
    refetchOnWindowFocus: true,
    placeholderData: keepPreviousData
  })

// --- internal

/** Turns that one call reads. */
const TURNS = 100

/** States of turns that have ended: they do not change. */
const ended = new Map<string, NewestTurn>()

const read = async ({ most, search, tag }: Filter, signal: AbortSignal): Promise<Entries> => {
  const filter = { signal, ...(search === "" ? {} : { search }), ...(tag === undefined ? {} : { tag }) }
  const [conversations, turns] = await Promise.all([
    Service.first(
      Service.client.listConversations({ ...filter, limit: Math.min(most + 1, Service.MOST_OF_CALL) }),
      most + 1
    ),
    Service.first(Service.client.listTurns({ signal, limit: TURNS }), TURNS)
  ])
  const newest = new Map<string, NewestTurn>(turns.map((turn) => [turn.turnId, turn]))
  const entries = await Promise.all(
    conversations.slice(0, most).map(async (conversation): Promise<Entry> => {
      const { lastTurnId } = conversation
      if (lastTurnId === undefined) return { conversation, turn: undefined }
      const turn =
        newest.get(lastTurnId) ??
        ended.get(lastTurnId) ??
        // A turn that was deleted meanwhile has no state.
        (await Service.client
          .turn(lastTurnId)
          .getState({ signal })
          .catch(() => undefined))
      if (turn !== undefined && ENDS.has(turn.status)) ended.set(lastTurnId, turn)
      if (turn?.status !== "queued") return { conversation, turn }
      // What the conversation does is what the turn before does.
      const first = turns.find(
        ({ conversationId, status }) => conversationId === turn.conversationId && ACTS.has(status)
      )
      return { conversation, turn: first ?? turn }
    })
  )
  return { entries, hasMore: conversations.length > most }
}

const ACTS: ReadonlySet<string> = new Set(["waiting", "running"])
const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "aborted"])
