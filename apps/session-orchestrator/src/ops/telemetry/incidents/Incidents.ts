/**
 * Decides when to notify an operator of outages, recoveries and failed turns. Pure.
 *
 * - An incident begins when a turn waits for an endpoint (a provider's model) that has answered no turn for `afterMs`, counted from the
 *   first wait since its last answer. It ends with the next answer, or when no turn waits for it any more (`Trouble`).
 * - A failed turn is reported too (`Causes`), so the last notice about a turn never promises an answer that does not come.
 *
 * Incidents.I2. An incident has one notice at its beginning and one at its end, for any number of waiting turns and retries. An incident
 *     without a notice of its beginning has no notice of its end.
 * Incidents.I4. `Kept` is all that the next process needs (`SharedIncidents`): a reported incident continues, and an incident about to begin
 *     still begins. None is given up while a turn of another runner waits for it (`Others`).
 */
import { defined, type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { type Data, HashMap, Option } from "effect"
import * as Causes from "./Causes.ts"
import * as Notice from "./Notice.ts"

/** The most endpoints that are watched at once: the simulated provider has any number of model names. */
export const MOST_ENDPOINTS = 1_000

/** Turns that end within this time are reported in one notice. */
export const SETTLE_MS = 10_000

/**
 * Trouble at an endpoint, as it is kept over a restart (Incidents.I4). The ids of the turns that waited are not saved: until the last of those
 * waits was due, one turn counts as waiting. Times are in epoch milliseconds.
 */
interface Kept {
  readonly target: Target.Target
  /** The first wait since the last answer. */
  readonly since: number
  /** It is an incident: the notice of its beginning was made. */
  readonly isTold: boolean
  /** The end of the longest wait that was decided. */
  readonly waitsUntil: number
  /** The last failure. */
  readonly said: Notice.NoticeFailure
  /** The outcomes of turns that waited for it. */
  readonly outcomes?: Notice.Outcomes
  /** When the notice of its end is due, if no turn waits for it until then. */
  readonly endsAt?: number
}

/** A fact about a turn or the clock. Times are in epoch milliseconds. */
export type Fact = Data.TaggedEnum<{
  /** A turn begins to wait for an endpoint. */
  Waits: {
    readonly conversationId: string
    readonly target: Target.Target
    readonly said: Notice.NoticeFailure
    readonly until: number
    readonly at: number
  }
  /** A person has moved the end of a turn's wait. */
  Postponed: { readonly conversationId: string; readonly until: number; readonly at: number }
  /** An endpoint has answered a turn. */
  Answered: { readonly conversationId: string; readonly target: Target.Target; readonly at: number }
  /** A turn stops waiting and continues at another endpoint. */
  WentOn: { readonly conversationId: string; readonly at: number }
  /** A turn continues at another runner. */
  Moved: { readonly conversationId: string; readonly at: number }
  /** A turn has ended; `target` is where its last attempt went. */
  Sealed: {
    readonly conversationId: string
    readonly target: Target.Target
    readonly status: TurnEvent.TurnStatus
    readonly turnId?: Ids.TurnId | undefined
    /** Why it failed. */
    readonly said?: Notice.NoticeFailure | undefined
    readonly at: number
  }
  /** The database was asked whether a turn that has not ended waits for an endpoint, or calls it (Incidents.I4). */
  Asked: {
    readonly target: Target.Target
    /** The trouble that the question was about. */
    readonly since: number
    readonly hasOpenTurn: boolean
    readonly at: number
  }
  /** Time has passed. */
  Passed: { readonly at: number }
}>

/** Everything that `Incidents` has recorded. */
export interface IncidentState {
  readonly troubles: HashMap.HashMap<string, Trouble>
  /** Where each turn is counted, by its conversation, which has one running turn at a time. */
  readonly turns: HashMap.HashMap<string, Counted>
  readonly causes: Causes.Causes
  /** The number of troubles in this process so far. */
  readonly made: number
  /** The database is asked before an incident is given up (Incidents.I4). */
  readonly isKept: boolean
}

/** One trouble of an endpoint; a later trouble of the same endpoint has another number. */
interface TroubleId {
  readonly key: string
  readonly number: number
}

interface Counted {
  /** The trouble that it waits for. */
  readonly waits: TroubleId | undefined
  /** When its next attempt is due, in epoch milliseconds. */
  readonly until: number
  /** The troubles that it waited for before it switched to another endpoint. */
  readonly left: ReadonlyArray<TroubleId>
}

/** Turns of other runners that wait for an endpoint. Times are in epoch milliseconds. */
export interface Others {
  /** Until then one of them counts as waiting. */
  readonly until: number
  /** The same of runners that are gone: their turns continue elsewhere. */
  readonly orphanedUntil: number
  readonly waiting: number
  /** Their earliest attempts, as far as they are known. */
  readonly nextAts: ReadonlyArray<number>
}

/** This process is alone. */
const ALONE: Others = { until: 0, orphanedUntil: 0, waiting: 0, nextAts: [] }

/**
 * Trouble at an endpoint, with the turns of this process and of others.
 *
 * Trouble that no turn waits for any more is removed. If it was reported, it ends: when every turn that waited has failed, was aborted or
 * was answered by another endpoint, the notice reports these outcomes, `SETTLE_MS` later. A turn that switched to another endpoint and
 * has not ended, or that moved to another runner, keeps the trouble until an answer; while no turn waits here the incident does not count
 * as open.
 */
export interface Trouble extends Kept {
  readonly number: number
  /** Shared by all turns that wait for it: there may be a hundred thousand. */
  readonly id: TroubleId
  /** Turns of this process that wait for it. */
  readonly waiting: number
  /** Turns that waited, switched to another endpoint, and have not ended. */
  readonly elsewhere: number
  /** A turn that waited has moved to another runner. */
  readonly hasMoved: boolean
  /** Until then a turn of an earlier process counts as waiting (Incidents.I4). */
  readonly inheritedUntil: number
  readonly others: Others
  /** The database has an open turn at the endpoint: failed turns are reported separately, until one waits or ends. */
  readonly isCalled?: true
}

/** The state without troubles. */
export const empty: IncidentState = {
  troubles: HashMap.empty(),
  turns: HashMap.empty(),
  causes: HashMap.empty(),
  made: 0,
  isKept: false
}

/** Trouble of which this process has seen no turn. */
export const inherited = (kept: Kept, number: number, others: Others = ALONE): Trouble => ({
  ...kept,
  number,
  id: { key: Target.format(kept.target), number },
  waiting: 0,
  elsewhere: 0,
  hasMoved: false,
  inheritedUntil: kept.waitsUntil,
  others
})

/** Whether a turn of this process, or of an earlier one, may still get the endpoint's answer. */
export const isHeld = (trouble: Trouble, at: number): boolean => isWaitedForHere(trouble, at) || trouble.elsewhere > 0

/**
 * Reported trouble whose end is due if the database has no open turn at its endpoint.
 *
 * Where incidents are kept in a database, none is given up before it was asked: while a turn that has not ended waits for the endpoint
 * or calls it, the incident lasts (`Asked`). If a process died, its last facts may be missing, and the notice names that.
 */
export const unanswered = ({ troubles }: IncidentState, at: number): ReadonlyArray<Trouble> =>
  Array.from(HashMap.values(troubles)).filter(
    (trouble) =>
      trouble.isTold && !isHeld(trouble, at) && lastWaitOf(trouble) <= at && (endOf(trouble) ?? -Infinity) <= at
  )

/** The number of incidents that a turn of this process waits for, at a moment in epoch milliseconds. */
export const openCount = ({ troubles }: IncidentState, at: number): number =>
  Array.from(HashMap.values(troubles)).filter((trouble) => trouble.isTold && isWaitedForHere(trouble, at)).length

/** When turns of this process that wait for an endpoint ask it next, after a moment, by its formatted target. Epoch milliseconds. */
export const nextAttempts = ({ turns }: IncidentState, at: number): ReadonlyMap<string, number> => {
  const next = new Map<string, number>()
  for (const { until, waits } of HashMap.values(turns)) {
    if (waits === undefined || until <= at) continue
    next.set(waits.key, Math.min(next.get(waits.key) ?? Infinity, until))
  }
  return next
}

/** When the next notice may be due if nothing else happens, in epoch milliseconds; `undefined` if none can be. */
export const dueAt = (state: IncidentState, afterMs: number): number | undefined => {
  let first = Causes.dueAt(state.causes, settleOf(afterMs), (target) => endingOf(state, target))
  for (const trouble of HashMap.values(state.troubles)) {
    const end = state.isKept ? undefined : endOf(trouble)
    first = Math.min(first, trouble.isTold ? (end ?? Infinity) : trouble.since + afterMs)
  }
  return Number.isFinite(first) ? first : undefined
}

/** Folds a fact into the state and returns the notices that are due. */
export const record = (
  state: IncidentState,
  input: Fact,
  afterMs: number
): readonly [state: IncidentState, notices: ReadonlyArray<Notice.Notice>] => {
  const { at } = input
  switch (input._tag) {
    case "Waits":
      return due(waits(state, input), at, afterMs)
    case "Postponed":
      return due(postponed(state, input), at, afterMs)
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
    case "Asked":
      return asked(state, input, afterMs)
    case "Passed":
      return due(state, at, afterMs)
    default:
      return input satisfies never
  }
}

// --- internal

const settleOf = (afterMs: number): number => Math.min(afterMs, SETTLE_MS)

type Outcome = Exclude<keyof Notice.Outcomes, "isPartial"> | "moved"

const OUTCOMES: Readonly<Record<TurnEvent.TurnStatus, Outcome>> = {
  failed: "failed",
  aborted: "aborted",
  completed: "elsewhere"
}

const NOWHERE: Counted = { waits: undefined, until: 0, left: [] }

const troubleAt = ({ troubles }: IncidentState, { key, number }: TroubleId): Trouble | undefined => {
  const found = Option.getOrUndefined(HashMap.get(troubles, key))
  return found?.number === number ? found : undefined
}

const countedOf = ({ turns }: IncidentState, conversationId: string): Counted =>
  Option.getOrElse(HashMap.get(turns, conversationId), () => NOWHERE)

const withTurn = (state: IncidentState, conversationId: string, counted: Counted): IncidentState => ({
  ...state,
  turns:
    counted.waits === undefined && counted.left.length === 0
      ? HashMap.remove(state.turns, conversationId)
      : HashMap.set(state.turns, conversationId, counted)
})

/** Trouble without a notice is kept while a turn waits for it. */
const withTrouble = (state: IncidentState, key: string, trouble: Trouble, at: number): IncidentState => ({
  ...state,
  troubles:
    trouble.isTold || isWaitedFor(trouble, at)
      ? HashMap.set(state.troubles, key, trouble)
      : HashMap.remove(state.troubles, key)
})

const waits = (before: IncidentState, input: Extract<Fact, { _tag: "Waits" }>): IncidentState => {
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
  const { endsAt: _ended, isCalled: _called, ...rest } = trouble
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
    { waits: trouble.id, until, left: others.length === 0 ? NOWHERE.left : others }
  )
}

const postponed = (
  state: IncidentState,
  { conversationId, until }: Extract<Fact, { _tag: "Postponed" }>
): IncidentState => {
  const counted = countedOf(state, conversationId)
  const trouble = counted.waits && troubleAt(state, counted.waits)
  if (trouble === undefined) return state
  const next = { ...trouble, waitsUntil: Math.max(trouble.waitsUntil, until) }
  const troubles = HashMap.set(state.troubles, trouble.id.key, next)
  return withTurn({ ...state, troubles }, conversationId, { ...counted, until })
}

/** Without an end of its own, the trouble ends now, and the ends of its turns are not known. */
const asked = (
  state: IncidentState,
  { at, hasOpenTurn, since, target }: Extract<Fact, { _tag: "Asked" }>,
  afterMs: number
): readonly [IncidentState, ReadonlyArray<Notice.Notice>] => {
  const key = Target.format(target)
  const trouble = unanswered(state, at).find((one) => one.since === since && Target.format(one.target) === key)
  if (trouble === undefined) return [state, []]
  const { endsAt, outcomes } = trouble
  const next: Trouble = hasOpenTurn
    ? { ...trouble, isCalled: true }
    : endsAt === undefined
      ? { ...trouble, endsAt: at, outcomes: Notice.inPart(outcomes) }
      : trouble
  const known = { ...state, troubles: HashMap.set(state.troubles, key, next) }
  return hasOpenTurn ? [known, []] : due(known, at, afterMs, key)
}

const troubleOf = ({ at: since, said, target, until }: Extract<Fact, { _tag: "Waits" }>, number: number): Trouble => ({
  ...inherited({ target, since, isTold: false, waitsUntil: until, said }, number),
  inheritedUntil: since
})

/** The turn has stopped waiting and has not ended. */
const wentOn = (state: IncidentState, conversationId: string, at: number): IncidentState => {
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
  return withTurn(next, conversationId, { ...NOWHERE, left: isKept ? [...left, waits] : left })
}

const answered = (
  before: IncidentState,
  { at, conversationId, target }: Extract<Fact, { _tag: "Answered" }>
): readonly [IncidentState, ReadonlyArray<Notice.Notice>] => {
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

/** The turn has ended, or has moved to another runner. */
const ended = (
  state: IncidentState,
  { at, conversationId, ...input }: Extract<Fact, { _tag: "Sealed" | "Moved" }>,
  outcome: Outcome,
  settleMs: number
): IncidentState => {
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

/** A turn that may have waited in an earlier process, whose id was not saved, has ended at an endpoint in trouble (Incidents.I4). */
const inheritedEnded = (
  state: IncidentState,
  target: Target.Target,
  outcome: Outcome,
  at: number,
  settleMs: number
): IncidentState => {
  const key = Target.format(target)
  const trouble = Option.getOrUndefined(HashMap.get(state.troubles, key))
  const inheritedUntil = trouble === undefined ? 0 : Math.max(trouble.inheritedUntil, trouble.others.orphanedUntil)
  return trouble === undefined || !trouble.isTold || inheritedUntil <= trouble.since || at < trouble.since
    ? state
    : withTrouble(state, key, withOutcome(trouble, outcome, at, settleMs), at)
}

const withOutcome = (trouble: Trouble, outcome: Outcome, at: number, settleMs: number): Trouble => {
  if (outcome === "moved") return { ...trouble, hasMoved: true }
  const { isCalled: _called, outcomes = Notice.NO_OUTCOMES, ...rest } = trouble
  const next: Trouble = { ...rest, outcomes: { ...outcomes, [outcome]: outcomes[outcome] + 1 } }
  const isOver = next.isTold && next.waiting === 0 && next.elsewhere === 0 && !next.hasMoved
  return isOver ? { ...next, endsAt: Math.max(at, next.inheritedUntil) + settleMs } : next
}

const isWaitedForHere = ({ inheritedUntil, waiting }: Trouble, at: number): boolean =>
  waiting > 0 || inheritedUntil > at

const isWaitedFor = (trouble: Trouble, at: number): boolean => isWaitedForHere(trouble, at) || trouble.others.until > at

/** The last moment at which a turn is known to wait that this process does not count: one of before, of another runner, or that moved there. */
const lastWaitOf = ({ hasMoved, inheritedUntil, others, waitsUntil }: Trouble): number =>
  Math.max(inheritedUntil, others.until, hasMoved ? waitsUntil : 0)

/** When the notice of its end is due; `undefined`: it does not end yet. The last turn may have ended at another runner. */
const endOf = (trouble: Trouble): number | undefined =>
  trouble.endsAt === undefined || trouble.waiting > 0 || trouble.elsewhere > 0
    ? undefined
    : Math.max(trouble.endsAt, lastWaitOf(trouble))

/**
 * Makes the notices of causes that are due and of incidents that have begun or given up, and removes trouble without a waiting turn.
 *
 * @param confirmed the endpoint that has no open turn by the database
 */
const due = (
  state: IncidentState,
  at: number,
  afterMs: number,
  confirmed?: string
): readonly [IncidentState, ReadonlyArray<Notice.Notice>] => {
  const [causes, failures] = Causes.dueNotices(state.causes, at, settleOf(afterMs), (target) => {
    const trouble = Option.getOrUndefined(HashMap.get(state.troubles, Target.format(target)))
    return {
      waiting: (trouble?.waiting ?? 0) + (trouble?.others.waiting ?? 0),
      ending: endingOf(state, target, confirmed)
    }
  })
  const notices: Array<Notice.Notice> = []
  let attempts: ReadonlyMap<string, number> | undefined
  let { troubles } = state
  for (const [key, trouble] of state.troubles) {
    if (trouble.isTold) {
      const isOver = state.isKept ? key === confirmed : (endOf(trouble) ?? Infinity) <= at
      if (!isOver) continue
      troubles = HashMap.remove(troubles, key)
      notices.push(noticeOf("incident-gave-up", trouble, at))
    } else if (at - trouble.since >= afterMs) {
      if (isWaitedFor(trouble, at)) {
        const began = { ...trouble, isTold: true }
        troubles = HashMap.set(troubles, key, began)
        attempts ??= nextAttempts(state, at)
        const nextAt = earliest([attempts.get(key) ?? Infinity, ...trouble.others.nextAts], at)
        notices.push({ ...noticeOf("incident-began", began, at), ...defined({ nextAt }) })
      } else troubles = HashMap.remove(troubles, key)
    }
  }
  const all = [...notices, ...failures].toSorted((a, b) => a.since - b.since)
  return [troubles === state.troubles && causes === state.causes ? state : { ...state, causes, troubles }, all]
}

/** The first of some moments that is after another one. */
const earliest = (moments: ReadonlyArray<number>, at: number): number | undefined => {
  const first = moments.reduce((first, one) => (one > at ? Math.min(first, one) : first), Infinity)
  return Number.isFinite(first) ? first : undefined
}

/** The end of an endpoint's incident, whose notice reports failed turns; it is due if no turn waits again. */
const endingOf = (
  { isKept, troubles }: IncidentState,
  target: Target.Target,
  confirmed?: string
): Causes.IncidentEnd | undefined => {
  const key = Target.format(target)
  const trouble = Option.getOrUndefined(HashMap.get(troubles, key))
  const endsAt = trouble === undefined ? undefined : endOf(trouble)
  if (
    trouble?.isTold !== true ||
    endsAt === undefined ||
    trouble.isCalled === true ||
    trouble.others.waiting > 0 ||
    (trouble.outcomes?.failed ?? 0) === 0
  )
    return undefined
  return { reason: trouble.said.reason, at: isKept && key !== confirmed ? Infinity : endsAt }
}

const noticeOf = (
  type: Notice.Notice["type"],
  { others, outcomes = Notice.NO_OUTCOMES, said, since, target, waiting }: Trouble,
  at: number
): Notice.Notice => ({
  type,
  incidentId: `${Target.format(target)}@${since}`,
  target,
  since,
  at,
  said,
  waiting: waiting + others.waiting,
  outcomes
})
