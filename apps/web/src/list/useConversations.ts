/**
 * Reads the list of conversations, with the newest turn of each, every few seconds while the page is visible.
 *
 * Three calls have most of it: the newest conversations, those that go on, and the newest turns of all. Older conversations of these turns
 * need a call, and so does each older newest turn of a conversation.
 */
import type { ConversationFilter } from "@holdfast/client"
import { type ConversationState, HeldCall, type TurnState } from "@holdfast/wire"
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"
import * as ConversationStatus from "./ConversationStatus.ts"

/** The turn that a conversation is at: what the list shows, and what commands need. */
type CurrentTurn = ConversationStatus.ShownTurn &
  Pick<TurnState.TurnState, "acceptedAt" | "conversationId" | "endedAt" | "model">

/** The conversations that a person looks for. */
interface Filter {
  readonly search: string
  readonly tag: string | undefined
  /** The most conversations. */
  readonly most: number
}

/** An entry of the list. */
export interface Entry {
  readonly conversation: ConversationState.ConversationSummary
  readonly turn: CurrentTurn | undefined
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

/** How the entries that match a filter are read: what goes on now, then what ended last. */
export const list = (filter: Filter) =>
  queryOptions({
    queryKey: ["conversations", filter],
    queryFn: ({ signal }) => read(filter, signal),
    // A list that was read before the page was drawn is not read again at once.
    staleTime: EVERY_MS / 2
  })

/** The entries that match a filter: what goes on now, then what ended last. */
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
const ended = new Map<string, CurrentTurn>()

const read = async ({ most, search, tag }: Filter, signal: AbortSignal): Promise<Entries> => {
  // What goes on or has ended lately is on top however many were opened since; a search would look through everything for that.
  const isFiltered = search !== "" || tag !== undefined
  const listed = (filter: ConversationFilter) =>
    Service.first(
      Service.client.listConversations({ signal, limit: Math.min(most + 1, Service.MOST_OF_CALL), ...filter }),
      most + 1
    )
  const [busy, opened, turns] = await Promise.all([
    isFiltered ? [] : listed({ busy: true }),
    listed({ ...(search === "" ? {} : { search }), ...(tag === undefined ? {} : { tag }) }),
    Service.first(Service.client.listTurns({ signal, limit: TURNS }), TURNS)
  ])
  const known = new Map([...opened, ...busy].map((conversation) => [conversation.conversationId, conversation]))
  const active = turns.map(({ conversationId }) => conversationId).filter((id) => !isFiltered && !HeldCall.isHeld(id))
  const older = [...new Set(active)].slice(0, most).filter((id) => !known.has(id))
  if (older.length > 0)
    for (const conversation of await listed({ ids: older })) known.set(conversation.conversationId, conversation)
  const conversations = [...known.values()]
  const newest = new Map<string, CurrentTurn>(turns.map((turn) => [turn.turnId, turn]))
  const places = new Map<string | undefined, number>(turns.map(({ turnId }, place) => [turnId, place]))
  const placeOf = ({ isBusy, lastTurnId }: ConversationState.ConversationSummary): number =>
    isBusy ? -1 : (places.get(lastTurnId) ?? turns.length)
  const ranked = conversations.toSorted((a, b) => placeOf(a) - placeOf(b))
  const entries = await Promise.all(
    ranked.slice(0, most).map(async (conversation): Promise<Entry> => {
      const { lastTurnId } = conversation
      if (lastTurnId === undefined) return { conversation, turn: undefined }
      const turn = newest.get(lastTurnId) ?? ended.get(lastTurnId) ?? (await stateOf(lastTurnId, signal))
      if (turn !== undefined && ENDS.has(turn.status)) ended.set(lastTurnId, turn)
      if (turn?.status !== "queued") return { conversation, turn }
      // What the conversation does is what the turn before does, which may be older than all turns that were read.
      const { conversationId } = turn
      const first =
        turns.find((turn) => turn.conversationId === conversationId && ACTS.has(turn.status)) ??
        (await headOf(conversationId, signal))
      return { conversation, turn: first ?? turn }
    })
  )
  return { entries: entries.toSorted(ConversationStatus.compare), hasMore: opened.length > most }
}

/** The state of a turn; a turn that was deleted meanwhile has none. */
const stateOf = (turnId: string, signal: AbortSignal): Promise<CurrentTurn | undefined> =>
  Service.client
    .turn(turnId)
    .getState({ signal })
    .catch(() => undefined)

/** The turn of a conversation that runs or waits. */
const headOf = async (conversationId: string, signal: AbortSignal): Promise<CurrentTurn | undefined> => {
  const state = await Service.client
    .conversation(conversationId)
    .getState({ signal })
    .catch(() => undefined)
  return state?.turnId === undefined ? undefined : stateOf(state.turnId, signal)
}

const ACTS: ReadonlySet<string> = new Set(["waiting", "running"])
const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "aborted"])
