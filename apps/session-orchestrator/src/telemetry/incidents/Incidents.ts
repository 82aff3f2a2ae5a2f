/**
 * Decides when an operator is told that an endpoint is down, that it is back, and that turns failed. Pure.
 *
 * I1. An incident begins when a turn waits for an endpoint (a provider's model) that has answered no turn for `afterMs`, counted from the
 *     first wait since its last answer. It ends with the next answer.
 * I2. An incident is told once at its beginning and once at its end, however many turns wait and however often each retries.
 *     What was not told to begin is not told to end.
 * I3. Trouble that no turn waits for any more is forgotten. If it was told, it ends: when every turn that waited has failed, was aborted or
 *     was answered elsewhere, the notice says so, `SETTLE_MS` later. A turn that went on elsewhere and has not ended, or that moved to
 *     another runner, keeps it until an answer; while no turn waits here it does not count as open.
 * I4. What `save` gives is all that a next life needs: an incident that was told goes on, and one that was about to begin still
 *     begins. The turns that waited then are not known by name: until the last of those waits was due, a turn counts as waiting.
 * I5. A turn that fails is told too (`Causes`), so that no notice that promised an answer is the last one about it.
 */
import { Target, type TurnEvent } from "@holdfast/wire"
import { HashMap, Option, Schema } from "effect"
import * as Causes from "./Causes.ts"
import * as Notice from "./Notice.ts"

/** More endpoints than this are not watched at once: names of the simulated provider's models have no end. */
export const MOST_ENDPOINTS = 1_000

/** Turns that end together are told in one notice. */
export const SETTLE_MS = 10_000

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
  said: Notice.Said,
  /** Of turns that waited for it. */
  outcomes: Schema.optionalKey(Notice.Outcomes),
  /** When its end is told, if no turn waits for it until then (I3). */
  endsAt: Schema.optionalKey(Schema.Finite)
})
export type Kept = typeof Kept.Type

export type Input =
  /** A turn begins to wait for an endpoint. */
  | {
      readonly _tag: "Waits"
      readonly conversationId: string
      readonly target: Target.Target
      readonly said: Notice.Said
      readonly until: number
      readonly at: number
    }
  /** An endpoint has answered a turn. */
  | { readonly _tag: "Answered"; readonly conversationId: string; readonly target: Target.Target; readonly at: number }
  /** A turn waits no more, and goes on at another endpoint. */
  | { readonly _tag: "WentOn"; readonly conversationId: string; readonly at: number }
  /** A turn goes on at another runner. */
  | { readonly _tag: "Moved"; readonly conversationId: string; readonly at: number }
  /** A turn has ended; `target` is where its last attempt went. */
  | {
      readonly _tag: "Sealed"
      readonly conversationId: string
      readonly target: Target.Target
      readonly status: TurnEvent.TurnStatus
      /** Why it failed. */
      readonly said?: Notice.Said | undefined
      readonly at: number
    }
  /** Time has passed. */
  | { readonly _tag: "Passed"; readonly at: number }

export interface State {
  readonly troubles: HashMap.HashMap<string, Trouble>
  /** Where each turn is counted: by its conversation, of which no other runs meanwhile. */
  readonly turns: HashMap.HashMap<string, Counted>
  readonly causes: Causes.Causes
  /** How many troubles there have been in this life. */
  readonly made: number
}

/** What a next life needs (I4). */
export interface Saved {
  readonly troubles: ReadonlyArray<Kept>
  readonly causes: ReadonlyArray<Causes.Cause>
}

/** Trouble of an endpoint; another one at the same endpoint has another number. */
interface Place {
  readonly key: string
  readonly number: number
}

interface Counted {
  /** What it waits for. */
  readonly waits: Place | undefined
  /** What it waited for before it went on elsewhere. */
  readonly left: ReadonlyArray<Place>
}

interface Trouble extends Kept {
  readonly number: number
  /** Of every turn that waits for it and has waited for nothing else: one value for all, as there may be a hundred thousand. */
  readonly waiter: Counted
  /** Turns of this life. */
  readonly waiting: number
  /** Turns that waited, went on elsewhere, and have not ended. */
  readonly elsewhere: number
  /** A turn that waited has moved to another runner. */
  readonly hasMoved: boolean
  /** Until then a turn of an earlier life waits (I4). */
  readonly inheritedUntil: number
}

export const empty: State = { troubles: HashMap.empty(), turns: HashMap.empty(), causes: HashMap.empty(), made: 0 }

/** What an earlier life has left. */
export const restore = ({ causes, troubles }: Saved): State => ({
  ...empty,
  made: troubles.length,
  causes: Causes.restore(causes),
  troubles: HashMap.fromIterable(
    troubles.map((trouble, number) => [
      Target.format(trouble.target),
      {
        ...trouble,
        number,
        waiter: waiterOf(trouble.target, number),
        waiting: 0,
        elsewhere: 0,
        hasMoved: false,
        inheritedUntil: trouble.waitsUntil
      }
    ])
  )
})

/** What a next life needs (I4). */
export const save = ({ causes, troubles }: State): Saved => ({
  causes: Causes.save(causes),
  troubles: Array.from(HashMap.values(troubles), ({ endsAt, isTold, outcomes, said, since, target, waitsUntil }) => ({
    target,
    since,
    isTold,
    waitsUntil,
    said,
    ...(outcomes === undefined ? undefined : { outcomes }),
    ...(endsAt === undefined ? undefined : { endsAt })
  }))
})

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
  /** And a turn waits for it here (I3). */
  readonly isOpen: boolean
  /** Turns of this life that do. */
  readonly waiting: number
}

/** When something may be to tell if nothing happens until then; `undefined` when nothing can. Epoch milliseconds. */
export const dueAt = ({ causes, troubles }: State, afterMs: number): number | undefined => {
  let first = Causes.dueAt(causes, settleOf(afterMs), (target) => endingOf(troubles, target))
  for (const { endsAt = Infinity, isTold, since } of HashMap.values(troubles)) {
    first = Math.min(first, isTold ? endsAt : since + afterMs)
  }
  return Number.isFinite(first) ? first : undefined
}

/** Takes in what has happened; gives what is to be told. */
export const hear = (
  state: State,
  input: Input,
  afterMs: number
): readonly [state: State, notices: ReadonlyArray<Notice.Notice>] => {
  const { at } = input
  switch (input._tag) {
    case "Waits":
      return due(waits(state, input), at, afterMs)
    case "Answered":
      return answered(state, input)
    case "WentOn":
      return due(wentOn(state, input.conversationId, at), at, afterMs)
    case "Moved":
      return due(ended(state, input, "moved", settleOf(afterMs)), at, afterMs)
    case "Sealed": {
      const next = ended(state, input, OUTCOMES[input.status], settleOf(afterMs))
      const { said, target } = input
      const causes = said === undefined ? next.causes : Causes.failed(next.causes, { target, said, at })
      return due({ ...next, causes }, at, afterMs)
    }
    case "Passed":
      return due(state, at, afterMs)
    default:
      return input satisfies never
  }
}

// --- internal

const settleOf = (afterMs: number): number => Math.min(afterMs, SETTLE_MS)

type Outcome = keyof Notice.Outcomes | "moved"

const OUTCOMES: Readonly<Record<TurnEvent.TurnStatus, Outcome>> = {
  failed: "failed",
  aborted: "aborted",
  completed: "elsewhere"
}

const NOWHERE: Counted = { waits: undefined, left: [] }

const troubleAt = ({ troubles }: State, { key, number }: Place): Trouble | undefined => {
  const found = Option.getOrUndefined(HashMap.get(troubles, key))
  return found?.number === number ? found : undefined
}

const countedOf = ({ turns }: State, conversationId: string): Counted =>
  Option.getOrElse(HashMap.get(turns, conversationId), () => NOWHERE)

const withTurn = (state: State, conversationId: string, counted: Counted): State => ({
  ...state,
  turns:
    counted.waits === undefined && counted.left.length === 0
      ? HashMap.remove(state.turns, conversationId)
      : HashMap.set(state.turns, conversationId, counted)
})

/** I3: trouble that is not told is kept while a turn waits for it. */
const withTrouble = (state: State, key: string, trouble: Trouble, at: number): State => ({
  ...state,
  troubles:
    trouble.isTold || isWaitedFor(trouble, at)
      ? HashMap.set(state.troubles, key, trouble)
      : HashMap.remove(state.troubles, key)
})

const waits = (before: State, input: Extract<Input, { _tag: "Waits" }>): State => {
  const { at, conversationId, said, target, until } = input
  const key = Target.format(target)
  const known = Option.getOrUndefined(HashMap.get(before.troubles, key))
  const { waits } = countedOf(before, conversationId)
  const isCounted = waits !== undefined && waits.key === key && waits.number === known?.number
  // A turn waits for one endpoint at a time.
  const state = isCounted ? before : wentOn(before, conversationId, at)
  if (known === undefined && HashMap.size(state.troubles) >= MOST_ENDPOINTS) return state
  const trouble = Option.getOrElse(HashMap.get(state.troubles, key), () => troubleOf(input, state.made))
  const { left } = countedOf(state, conversationId)
  const others = left.filter((one) => one.key !== key || one.number !== trouble.number)
  const { endsAt: _ended, ...rest } = trouble
  const next: Trouble = {
    ...rest,
    said,
    waitsUntil: Math.max(trouble.waitsUntil, until),
    waiting: trouble.waiting + (isCounted ? 0 : 1),
    elsewhere: trouble.elsewhere - (left.length - others.length)
  }
  return withTurn(
    { ...state, made: Math.max(state.made, trouble.number + 1), troubles: HashMap.set(state.troubles, key, next) },
    conversationId,
    others.length === 0 ? trouble.waiter : { waits: trouble.waiter.waits, left: others }
  )
}

const waiterOf = (target: Target.Target, number: number): Counted => ({
  waits: { key: Target.format(target), number },
  left: []
})

const troubleOf = ({ at, said, target, until }: Extract<Input, { _tag: "Waits" }>, number: number): Trouble => ({
  target,
  since: at,
  isTold: false,
  waitsUntil: until,
  said,
  number,
  waiter: waiterOf(target, number),
  waiting: 0,
  elsewhere: 0,
  hasMoved: false,
  inheritedUntil: at
})

/** The turn waits no more, and has not ended. */
const wentOn = (state: State, conversationId: string, at: number): State => {
  const { left, waits } = countedOf(state, conversationId)
  if (waits === undefined) return state
  const trouble = troubleAt(state, waits)
  const next =
    trouble === undefined
      ? state
      : withTrouble(
          state,
          waits.key,
          { ...trouble, waiting: trouble.waiting - 1, elsewhere: trouble.elsewhere + 1 },
          at
        )
  const isKept = troubleAt(next, waits) !== undefined
  return withTurn(next, conversationId, { waits: undefined, left: isKept ? [...left, waits] : left })
}

const answered = (
  before: State,
  { at, conversationId, target }: Extract<Input, { _tag: "Answered" }>
): readonly [State, ReadonlyArray<Notice.Notice>] => {
  const key = Target.format(target)
  const trouble = Option.getOrUndefined(HashMap.get(before.troubles, key))
  const causes = Causes.answered(before.causes, target)
  if (trouble === undefined && causes === before.causes && countedOf(before, conversationId).waits === undefined) {
    return [before, []]
  }
  const without =
    trouble === undefined
      ? { ...before, causes }
      : { ...before, causes, troubles: HashMap.remove(before.troubles, key) }
  const state = wentOn(without, conversationId, at)
  return [state, trouble?.isTold === true ? [noticeOf("incident-ended", trouble, at)] : []]
}

/** The turn has ended, or is gone from here. */
const ended = (
  state: State,
  { at, conversationId, ...input }: Extract<Input, { _tag: "Sealed" | "Moved" }>,
  outcome: Outcome,
  settleMs: number
): State => {
  const { left, waits } = countedOf(state, conversationId)
  if (waits === undefined && left.length === 0) {
    return input._tag === "Sealed" ? inheritedEnded(state, input.target, outcome, at, settleMs) : state
  }
  let next = state
  for (const place of [...(waits === undefined ? [] : [waits]), ...left]) {
    const trouble = troubleAt(next, place)
    if (trouble === undefined) continue
    const counted =
      place === waits ? { ...trouble, waiting: trouble.waiting - 1 } : { ...trouble, elsewhere: trouble.elsewhere - 1 }
    next = withTrouble(next, place.key, withOutcome(counted, outcome, at, settleMs), at)
  }
  return withTurn(next, conversationId, NOWHERE)
}

/** A turn of an earlier life, which is not known by name, has ended at an endpoint that it waited for then (I4). */
const inheritedEnded = (state: State, target: Target.Target, outcome: Outcome, at: number, settleMs: number): State => {
  const key = Target.format(target)
  const trouble = Option.getOrUndefined(HashMap.get(state.troubles, key))
  return trouble === undefined || !trouble.isTold || trouble.inheritedUntil <= trouble.since
    ? state
    : withTrouble(state, key, withOutcome(trouble, outcome, at, settleMs), at)
}

const withOutcome = (trouble: Trouble, outcome: Outcome, at: number, settleMs: number): Trouble => {
  if (outcome === "moved") return { ...trouble, hasMoved: true }
  const { outcomes = Notice.NO_OUTCOMES } = trouble
  const next: Trouble = { ...trouble, outcomes: { ...outcomes, [outcome]: outcomes[outcome] + 1 } }
  const isOver = next.isTold && next.waiting === 0 && next.elsewhere === 0 && !next.hasMoved
  return isOver ? { ...next, endsAt: Math.max(at, next.inheritedUntil) + settleMs } : next
}

const isWaitedFor = ({ inheritedUntil, waiting }: Trouble, at: number): boolean => waiting > 0 || inheritedUntil > at

/** Tells of every cause that is due and of every incident that has begun or given up by now, and forgets what no turn waits for. */
const due = (state: State, at: number, afterMs: number): readonly [State, ReadonlyArray<Notice.Notice>] => {
  const [causes, failures] = Causes.told(state.causes, at, settleOf(afterMs), (target) => {
    const trouble = Option.getOrUndefined(HashMap.get(state.troubles, Target.format(target)))
    return { waiting: trouble?.waiting ?? 0, ending: endingOf(state.troubles, target) }
  })
  const notices: Array<Notice.Notice> = []
  let { troubles } = state
  for (const [key, trouble] of state.troubles) {
    if (trouble.isTold) {
      if (trouble.endsAt === undefined || trouble.endsAt > at) continue
      troubles = HashMap.remove(troubles, key)
      notices.push(noticeOf("incident-gave-up", trouble, at)) // I3
    } else if (at - trouble.since >= afterMs) {
      if (isWaitedFor(trouble, at)) {
        const told = { ...trouble, isTold: true }
        troubles = HashMap.set(troubles, key, told)
        notices.push(noticeOf("incident-began", told, at))
      } else troubles = HashMap.remove(troubles, key) // I3
    }
  }
  const told = [...notices, ...failures].toSorted((a, b) => a.since - b.since)
  return [troubles === state.troubles && causes === state.causes ? state : { ...state, causes, troubles }, told]
}

/** The end of an endpoint's incident that tells of failed turns, where it comes if no turn waits again. */
const endingOf = (troubles: State["troubles"], target: Target.Target): Causes.Ending | undefined => {
  const trouble = Option.getOrUndefined(HashMap.get(troubles, Target.format(target)))
  if (trouble?.isTold !== true || trouble.endsAt === undefined || (trouble.outcomes?.failed ?? 0) === 0)
    return undefined
  return { reason: trouble.said.reason, at: trouble.endsAt }
}

const noticeOf = (
  type: Notice.Notice["type"],
  { outcomes = Notice.NO_OUTCOMES, said, since, target, waiting }: Trouble,
  at: number
): Notice.Notice => ({
  type,
  incidentId: `${Target.format(target)}@${since}`,
  target,
  since,
  at,
  said,
  waiting,
  outcomes
})
