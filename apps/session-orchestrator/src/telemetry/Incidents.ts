/**
 * When somebody has to be told that an endpoint is down, and when that it is back: a state machine over what turns meet. Pure.
 *
 * I1. An incident begins when a turn waits for an endpoint (a provider's model) of which nobody has been answered for `afterMs`,
 *     counted from the first wait since its last answer. It ends with the next answer.
 * I2. An incident is told once at its beginning and once at its end, however many turns wait and however often each retries.
 *     What was not told to begin is not told to end.
 * I3. Trouble that nobody waits for any more is forgotten, unless it is an incident already: that one lasts until an answer. On a runner
 *     that may be a while: while nobody waits for it here it does not count as open.
 * I4. What `save` gives is all that a next life needs: an incident that was told goes on, and one that was about to begin still
 *     begins. Who waited then is not known by name; until the last of those waits was due, somebody counts as waiting.
 */
import { Failure, Target } from "@holdfast/wire"
import { HashMap, Option, Schema } from "effect"

/** More endpoints than this are not watched at once: names of the simulated provider's models have no end. */
export const MOST_ENDPOINTS = 1_000

const Said = Schema.Struct({
  reason: Failure.Reason,
  /** As the endpoint had it, without secrets. */
  message: Schema.String,
  /** The HTTP status, or the provider's code. */
  code: Schema.optionalKey(Schema.String)
})
export type Said = typeof Said.Type

/** Trouble at an endpoint, as it is kept. Times are in epoch milliseconds. */
export const Kept = Schema.Struct({
  target: Target.Target,
  /** The first wait since the last answer. */
  since: Schema.Finite,
  /** It is an incident. */
  isTold: Schema.Boolean,
  /** The end of the longest wait that has been decided on. */
  waitsUntil: Schema.Finite,
  /** The last failure. */
  said: Said
})
export type Kept = typeof Kept.Type

/** What is to be told. */
export const Notice = Schema.Struct({
  type: Schema.Literals(["incident-began", "incident-ended"]),
  /** The same for both notices of an incident, in every life of the service. */
  incidentId: Schema.String,
  target: Target.Target,
  since: Schema.Finite,
  at: Schema.Finite,
  said: Said,
  /** Turns that wait for the endpoint, as far as this life of the service knows them. */
  waiting: Schema.Int
})
export type Notice = typeof Notice.Type

export type Input =
  /** A turn begins to wait for an endpoint. */
  | {
      readonly _tag: "Waits"
      readonly conversationId: string
      readonly target: Target.Target
      readonly said: Said
      readonly until: number
      readonly at: number
    }
  /** An endpoint has answered a turn. */
  | { readonly _tag: "Answered"; readonly conversationId: string; readonly target: Target.Target; readonly at: number }
  /** A turn waits for nothing any more, or does so at another runner. */
  | { readonly _tag: "Left"; readonly conversationId: string; readonly at: number }
  /** Time has passed. */
  | { readonly _tag: "Passed"; readonly at: number }

export interface State {
  readonly troubles: HashMap.HashMap<string, Trouble>
  /** Where each turn that waits is counted: by its conversation, of which no other waits meanwhile. */
  readonly waiting: HashMap.HashMap<string, { readonly key: string; readonly since: number }>
}

interface Trouble extends Kept {
  /** Turns of this life. */
  readonly waiting: number
  /** Until then somebody of an earlier life waits (I4). */
  readonly inheritedUntil: number
}

export const empty: State = { troubles: HashMap.empty(), waiting: HashMap.empty() }

/** What an earlier life has left. */
export const restore = (kept: ReadonlyArray<Kept>): State => ({
  ...empty,
  troubles: HashMap.fromIterable(
    kept.map((trouble) => [
      Target.format(trouble.target),
      { ...trouble, waiting: 0, inheritedUntil: trouble.waitsUntil }
    ])
  )
})

/** What a next life needs (I4). */
export const save = ({ troubles }: State): ReadonlyArray<Kept> =>
  Array.from(HashMap.values(troubles), ({ isTold, said, since, target, waitsUntil }) => ({
    target,
    since,
    isTold,
    waitsUntil,
    said
  }))

/** Every endpoint in trouble at a moment in epoch milliseconds. */
export const counts = ({ troubles }: State, at: number): ReadonlyArray<Count> =>
  Array.from(HashMap.values(troubles), (trouble) => ({
    isTold: trouble.isTold,
    isOpen: trouble.isTold && isWaitedFor(trouble, at),
    waiting: trouble.waiting
  }))

export interface Count {
  /** It is an incident. */
  readonly isTold: boolean
  /** And somebody here waits for it (I3). */
  readonly isOpen: boolean
  /** Turns of this life that do. */
  readonly waiting: number
}

/** When something may be to tell if nothing happens until then; `undefined` when nothing can. Epoch milliseconds. */
export const dueAt = ({ troubles }: State, afterMs: number): number | undefined =>
  Array.from(HashMap.values(troubles))
    .filter(({ isTold }) => !isTold)
    .map(({ since }) => since + afterMs)
    .reduce<number | undefined>((first, due) => (first === undefined || due < first ? due : first), undefined)

/** Hears what has happened, and says what is to be told. */
export const hear = (
  state: State,
  input: Input,
  afterMs: number
): readonly [state: State, notices: ReadonlyArray<Notice>] => {
  switch (input._tag) {
    case "Waits":
      return begun(waits(state, input), input.at, afterMs)
    case "Answered":
      return answered(state, input)
    case "Left":
      return begun(leave(state, input.conversationId, input.at), input.at, afterMs)
    case "Passed":
      return begun(state, input.at, afterMs)
    default:
      return input satisfies never
  }
}

// --- internal

const waits = (
  before: State,
  { at, conversationId, said, target, until }: Extract<Input, { _tag: "Waits" }>
): State => {
  const key = Target.format(target)
  const isCounted = Option.exists(HashMap.get(before.waiting, conversationId), (entry) => entry.key === key)
  // A turn waits for one endpoint at a time.
  const state = isCounted ? before : leave(before, conversationId, at)
  const known = Option.getOrUndefined(HashMap.get(state.troubles, key))
  if (known === undefined && HashMap.size(state.troubles) >= MOST_ENDPOINTS) return state
  const trouble: Trouble = known ?? {
    target,
    since: at,
    isTold: false,
    waitsUntil: until,
    said,
    waiting: 0,
    inheritedUntil: at
  }
  const isNew = !Option.exists(HashMap.get(state.waiting, conversationId), ({ since }) => since === trouble.since)
  return {
    troubles: HashMap.set(state.troubles, key, {
      ...trouble,
      said,
      waitsUntil: Math.max(trouble.waitsUntil, until),
      waiting: trouble.waiting + (isNew ? 1 : 0)
    }),
    waiting: HashMap.set(state.waiting, conversationId, { key, since: trouble.since })
  }
}

const answered = (
  { troubles, waiting }: State,
  { at, conversationId, target }: Extract<Input, { _tag: "Answered" }>
): readonly [State, ReadonlyArray<Notice>] => {
  const key = Target.format(target)
  const trouble = Option.getOrUndefined(HashMap.get(troubles, key))
  const without = { troubles: HashMap.remove(troubles, key), waiting }
  const left = leave(without, conversationId, at)
  return [left, trouble?.isTold === true ? [noticeOf("incident-ended", trouble, at)] : []]
}

const leave = (state: State, conversationId: string, at: number): State => {
  const entry = Option.getOrUndefined(HashMap.get(state.waiting, conversationId))
  if (entry === undefined) return state
  const waiting = HashMap.remove(state.waiting, conversationId)
  const trouble = Option.getOrUndefined(HashMap.get(state.troubles, entry.key))
  // It may be trouble of a later time, after an answer.
  if (trouble === undefined || trouble.since !== entry.since) return { ...state, waiting }
  const less = { ...trouble, waiting: trouble.waiting - 1 }
  return {
    waiting,
    troubles:
      less.isTold || isWaitedFor(less, at)
        ? HashMap.set(state.troubles, entry.key, less)
        : HashMap.remove(state.troubles, entry.key) // I3
  }
}

const isWaitedFor = ({ inheritedUntil, waiting }: Trouble, at: number): boolean => waiting > 0 || inheritedUntil > at

/** Tells of every incident that has begun by now, and forgets what nobody waits for. */
const begun = (state: State, at: number, afterMs: number): readonly [State, ReadonlyArray<Notice>] => {
  const notices: Array<Notice> = []
  let { troubles } = state
  for (const [key, trouble] of state.troubles) {
    if (trouble.isTold || at - trouble.since < afterMs) continue
    if (!isWaitedFor(trouble, at)) {
      troubles = HashMap.remove(troubles, key) // I3
      continue
    }
    const told = { ...trouble, isTold: true }
    troubles = HashMap.set(troubles, key, told)
    notices.push(noticeOf("incident-began", told, at))
  }
  const told = notices.toSorted((a, b) => a.since - b.since)
  return [troubles === state.troubles ? state : { ...state, troubles }, told]
}

const noticeOf = (type: Notice["type"], { said, since, target, waiting }: Trouble, at: number): Notice => ({
  type,
  incidentId: `${Target.format(target)}@${since}`,
  target,
  since,
  at,
  said,
  waiting
})
