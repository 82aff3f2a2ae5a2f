/**
 * Holds calls for a model's answer until there is one (rule X13).
 *
 * Holding.H1. A call is a turn of one step (`HeldCalls`) from its first attempt on. It is on disk, and has a key, once it goes on after a failure.
 * Holding.H2. A wait outlives its client. While no client is attached nothing is sent. The same call, asked again in time, goes on in it (`HeldWaits`).
 * Holding.H3. On disk is the wait, and never the request or its credential. The keys of waits are in the ids of their conversations.
 *
 * A login that ends in the wait ends the connection, not the wait: the client gets the refusal as a status, or a cut, renews its login and asks again.
 *
 * A call that gave up stays so for a while: the same call gets the same refusal, since clients repeat what fails. A call whose answer was cut,
 * by its endpoint or by the death of the process, is a new one when it is asked again.
 */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Heartbeats } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { type Failure, type Ids, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { Defaults } from "../engine/conversation/Defaults.ts"
import type * as HeldCalls from "../engine/conversation/HeldCalls.ts"
import type { HeldTurns } from "../engine/orchestrator/HeldTurns.ts"
import type * as HeldWaits from "../engine/orchestrator/HeldWaits.ts"
import { BoundedMap } from "../base/system/BoundedMap.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { Conversation } from "../storage/Stored.ts"
import * as ProviderName from "../base/text/ProviderName.ts"
import { Accounts } from "./Accounts.ts"
import * as Relay from "./Relay.ts"
import type { ClientAnswer, Refusal } from "./ClientAnswer.ts"
import type * as Upstreams from "./Upstreams.ts"
import * as Headers from "./Headers.ts"
import * as GatedCall from "./GatedCall.ts"
import * as GaveUp from "./GaveUp.ts"

/** The services that holding uses. */
export interface Dependencies {
  readonly send: RawCall.Send
  readonly endpoints: Upstreams.Upstreams
  readonly calls: HeldCalls.HeldCalls["Service"]
  readonly turns: HeldTurns["Service"]
  readonly waits: HeldWaits.HeldWaits
  readonly defaults: Defaults["Service"]
  /** Counts a call that ended before its turn was on disk. It is called after the last byte of its answer. */
  readonly ended: (target: Target.Target, end: TurnEvent.TurnEnd) => void
  /** Receives the headers of every answer; `nameOf` names the credential of its call. */
  readonly answered: (provider: string, nameOf: () => string, headers: Readonly<Record<string, string>>) => void
  /** Removes secrets from texts. */
  readonly redact: (text: string) => string
}

/** The calls that are held. */
export type Holding = ReturnType<typeof make>

/** Holds calls over its services. */
export const make = ({ answered, calls, defaults, ended, endpoints, redact, send, turns, waits }: Dependencies) => {
  const accounts = new Accounts()
  /** The last refusals of calls that gave up here, by their keys. */
  const refusals = new BoundedMap<{
    readonly turnId: Ids.TurnId
    readonly refusal: Refusal
    readonly why: string
  }>(MOST_REFUSALS)
  /** Input tokens for a byte of a body, by the last answer of a session. */
  const perByte = new BoundedMap<number>(MOST_SESSIONS)

  /** Answers a call. Its client has the whole answer, or a cut, when this succeeds. Interruption means that the client has left. */
  const answer = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<void> =>
    // Suspended: what holds the call keeps this effect, and would keep the look-up with it.
    Effect.suspend(() =>
      Effect.flatMap(found(call), (known) => {
        if (known === undefined) return begin(call, client)
        if (known._tag === "Left") {
          return attached(known.wait, call, client, turns.resume(known.wait.conversationId))
        }
        const kept = refusals.get(known.key)
        // What was kept here gave up without content.
        return Effect.flatMap(kept?.turnId === known.turnId ? Effect.undefined : lastAttempt(known.turnId), (last) => {
          if (last?.hasContent === true) return begin(call, client)
          client.refused(kept?.refusal)
          return Effect.sync(() => client.giveUp(known.failure, kept?.why))
        })
      })
    )

  /** What is known of a call that was asked before. A database that does not answer makes it a new call. */
  const found = (call: GatedCall.GatedCall): Effect.Effect<HeldWaits.Known | undefined> =>
    Effect.catch(
      waits.find(() => ({ key: GatedCall.keyOf(call), isRenewable: GatedCall.isRenewable(call) })),
      ({ message }) =>
        Effect.as(Effect.logWarning(`A call through the gateway cannot be looked up: ${message}`), undefined)
    )

  /** Runs a call as a turn that is not on disk (Holding.H1). */
  const begin = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (since) => {
      const turnId = HeldCallIds.turn(since, randomBytes(4).toString("hex"))
      const conversationId = HeldCallIds.draft(turnId)
      const title = GatedCall.title(call)
      const account = accountOf(call)
      const conversation: Conversation = {
        conversationId,
        model: Target.format(GatedCall.targetOf(call)),
        system: undefined,
        retry: call.retry,
        autoRetryEnabled: defaults.retry.enabled ?? true,
        createdAt: since,
        tools: [],
        title
      }
      const turn = {
        turnId,
        conversationId,
        prompt: title,
        acceptedAt: since,
        // They have a digest, which most calls need not.
        get labels() {
          return { tags: GatedCall.tags(call, account?.()) }
        },
        end: undefined
      }
      calls.set(conversationId, held(call, client, undefined))
      const left = turns.begin(conversation, turn, ({ end, target }) => {
        weigh(call, end.usage)
        ended(target, end)
      })
      return Effect.matchEffect(
        Effect.ensuring(
          left,
          Effect.sync(() => calls.delete(conversationId))
        ),
        {
          onSuccess: (left) => {
            if (left._tag === "Failed") return hold(call, client, conversation, left)
            if (!client.hasContent) client.giveUp(failureOf(left.end))
            return Effect.void
          },
          onFailure: (error) => Effect.sync(() => stopped(client, error))
        }
      )
    })

  /** Makes attempts with the client's request; `waiting`: of a call that has become a turn. */
  const relay = (call: GatedCall.GatedCall, client: ClientAnswer, waiting?: Waiting): Provider.Provider["Service"] =>
    ProviderCall.provider((request, world, given) => {
      const { asked, dialect } = call
      const { attempt, credential, target } = request
      client.refused(undefined)
      let isLeft = false
      const listener: ProviderCall.Listener = {
        events: (events) => !isLeft && given.events(events),
        end: (end) => (isLeft ? undefined : given.end(end)),
        progress: () => given.progress()
      }
      const refuse = (failure: Provider.EmittedFailure) => ProviderCall.refuse(listener, { type: "error", failure })
      if (!GatedCall.fits(call, endpoints, target)) return refuse(otherFormat(target))
      const sent = GatedCall.requestFor(call, endpoints, target, credential)
      if (sent === undefined) return refuse(keyless(target))
      const conceal = GatedCall.concealed(call, redact)
      const refused = (refusal: Refusal) => {
        client.refused(refusal)
        const hasEnded = refusal.head.status === 401 && ProviderName.hasClientKey(target.provider)
        if (waiting === undefined || !hasEnded || !GatedCall.isRenewable(call)) return
        isLeft = true // the turn has no news: its wait goes on with another login
        if (client.pass(refusal)) waiting.leave(world)
        else client.cut()
      }
      const took = (headers: Readonly<Record<string, string>>) => {
        const { "anthropic-organization-id": organisation } = headers
        const account = ProviderName.hasClientKey(target.provider)
          ? () => (organisation === undefined ? accounts.nameOf(call) : accounts.nameIn(call, organisation))
          : undefined
        // Later calls of the login are of that organisation, also where no gauge reads the name.
        if (organisation !== undefined) account?.()
        answered(target.provider, () => GatedCall.credentialName(endpoints, request, account?.()), headers)
      }
      const waitedMs = waiting && Math.max(0, world.now() - waiting.since)
      const own = () => ownHeaders(call, { attempt, target, waitedMs })
      return Relay.begin(
        { send, request: sent, dialect, call: asked, conceal, client, own, answered: took, refused },
        world,
        listener
      )
    })

  /** Puts the turn of a call on disk. */
  const hold = (
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    conversation: Conversation,
    draft: Parameters<HeldTurns["Service"]["accept"]>[1]
  ): Effect.Effect<void> => {
    const { turnId } = draft.turn
    const key = GatedCall.keyOf(call)
    const conversationId = turns.choose(() => HeldCallIds.make(key, turnId, randomBytes(2).toString("hex")))
    const wait = { key, conversationId, turnId }
    const place: Place = { isOnDisk: false }
    const accept = Effect.suspend(() => {
      place.isOnDisk = undefined
      return Effect.map(turns.accept({ ...conversation, conversationId }, draft), () => (place.isOnDisk = true))
    })
    const begin = Effect.andThen(waits.taken(wait), Effect.uninterruptible(accept))
    return Effect.ensuring(
      attached(wait, call, client, begin, place),
      Effect.sync(() => place.isOnDisk === true || draft.drop())
    )
  }

  /** The call as its turn runs it. */
  const held = (call: GatedCall.GatedCall, client: ClientAnswer, waiting: Waiting | undefined): HeldCalls.HeldCall => ({
    fits: (target) => GatedCall.fits(call, endpoints, target),
    route: `${call.provider} ${call.asked.format}`,
    account: accountOf(call),
    asksAgain: Heartbeats.asksAgain(Headers.valuesOf(call.headers, "user-agent")[0]),
    inputTokens: Math.ceil(call.body.length * (perByte.get(GatedCall.sessionOf(call) ?? "") ?? TOKENS_A_BYTE)),
    ...relay(call, client, waiting)
  })

  const accountOf = (call: GatedCall.GatedCall): (() => string) | undefined =>
    call.key._tag === "Client" ? () => accounts.nameOf(call) : undefined

  /** Waits for the end of a turn with its client attached. A turn that is not on disk after all is begun anew. */
  const attached = (
    wait: HeldWaits.Wait,
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    /** Returns whether the turn is on disk. */
    begun: Effect.Effect<boolean, { readonly message: string }>,
    place: Place = { isOnDisk: true }
  ): Effect.Effect<void> => {
    const { conversationId, turnId } = wait
    const since = HeldCallIds.read(conversationId)?.since ?? 0
    let isLeft = false
    const leave = ({ run }: ProviderCall.World) => {
      isLeft = true
      run(turns.release(conversationId), () => {})
    }
    calls.set(conversationId, held(call, client, { since, leave }))
    client.named(turnId)
    const untilEnd = Effect.flatMap(begun, (isThere) =>
      isThere ? turns.conversations.result(turnId, conversationId) : Effect.undefined
    )
    const wasLeft = place.isOnDisk === true
    const anew = () => {
      place.isOnDisk = false
      return Effect.andThen(waits.ended(wait, undefined), begin(call, client))
    }
    const left = () => {
      if (place.isOnDisk === true) return detached(wait, client)
      calls.delete(conversationId)
      return place.isOnDisk === false ? waits.ended(wait, undefined) : waits.left(wait)
    }
    return Effect.matchEffect(untilEnd, {
      onSuccess: (result) => {
        calls.delete(conversationId)
        if (result === undefined) return anew()
        weigh(call, result.end.usage)
        if (client.hasContent) return waits.ended(wait, undefined)
        const { end } = result
        if (end.error === undefined) return gaveUp(wait, client, end, GaveUp.BY_PERSON)
        return Effect.flatMap(lastAttempt(end.turnId), (last) => {
          // Its process died in the middle of its answer.
          const isCut = wasLeft && last?.hasContent === true && last.outcome === undefined
          return isCut ? anew() : gaveUp(wait, client, end, GaveUp.textOf(end, last))
        })
      },
      onFailure: (error) => {
        if (!isLeft) stopped(client, error)
        return left()
      }
    }).pipe(Effect.onInterrupt(left))
  }

  /** A record that cannot be read is none. */
  const lastAttempt = (turnId: Ids.TurnId) => Effect.orElseSucceed(turns.lastAttempt(turnId), () => undefined)

  /** Remembers what a body of its session weighs in tokens: its cache, tools and images make it another figure than its bytes. */
  const weigh = (call: GatedCall.GatedCall, { inputTokens }: Message.Usage): void => {
    const session = GatedCall.sessionOf(call)
    if (session !== undefined && inputTokens !== undefined && inputTokens > 0)
      perByte.set(session, inputTokens / call.body.length)
  }

  /** A call gave up: its client gets the failure, and its refusal is kept. `why`: which limit ended its wait. */
  const gaveUp = (
    wait: HeldWaits.Wait,
    client: ClientAnswer,
    end: TurnEvent.TurnEnd,
    why: string
  ): Effect.Effect<void> => {
    const failure = failureOf(end)
    const { key, turnId } = wait
    return Effect.andThen(
      waits.ended(wait, failure),
      Effect.sync(() => {
        const refusal = client.lastRefusal
        if (refusal === undefined) refusals.delete(key)
        else refusals.set(key, { turnId, refusal, why })
        if (end.error === undefined) client.fail(failure)
        else client.giveUp(failure, why)
      })
    )
  }

  /** The client has left (Holding.H2). After content there is nothing that another one could join. */
  const detached = (wait: HeldWaits.Wait, client: ClientAnswer): Effect.Effect<void> => {
    calls.delete(wait.conversationId)
    return client.hasContent
      ? Effect.andThen(Effect.ignore(turns.conversations.abort(wait.conversationId)), waits.ended(wait, undefined))
      : Effect.andThen(turns.release(wait.conversationId), waits.left(wait))
  }

  return { answer }
}

// --- internal

/** Where the turn of a call is. */
interface Place {
  /** `undefined`: its acceptance has not ended, or has failed, and may be stored. Its wait is left then, as by a client that goes. */
  isOnDisk: boolean | undefined
}

/** What an attempt knows of the wait that it is made in. */
interface Waiting {
  /** When the call began, in epoch milliseconds. */
  readonly since: number
  /** The client has its refusal, and the wait goes on without it. */
  readonly leave: (world: ProviderCall.World) => void
}

/** Refusals that are kept at once: without them the same call gets the same error in the words of Holdfast. */
const MOST_REFUSALS = 1_000

/** Of JSON in English, until a session was answered. */
const TOKENS_A_BYTE = 1 / 4

/** Sessions whose answers are remembered. */
const MOST_SESSIONS = 1_000

/** A person has chosen it: routes have no such target. */
const otherFormat = (target: Target.Target): Provider.EmittedFailure => ({
  reason: "model-unavailable",
  message: `${Target.format(target)} has another wire format than this call.`,
  retryable: false
})

const keyless = ({ provider }: Target.Target): Provider.EmittedFailure => ({
  reason: "auth",
  message: `Holdfast has no key of ${provider}.`,
  retryable: false
})

/** Without `waitedMs` it has not waited. */
const ownHeaders = (
  { asked }: GatedCall.GatedCall,
  {
    attempt,
    target,
    waitedMs
  }: Pick<Provider.ProviderRequest, "attempt" | "target"> & { readonly waitedMs: number | undefined }
): RawCall.RawHeaders => [
  ...(waitedMs === undefined
    ? []
    : ["x-holdfast-attempts", String(attempt + 1), "x-holdfast-waited-ms", String(waitedMs)]),
  ...(target.model === (asked.model ?? target.model) ? [] : ["x-holdfast-target", Target.format(target)])
]

/** The turn of a call has stopped without an end. */
const stopped = (client: ClientAnswer, { message }: { readonly message: string }): void => {
  if (!client.hasContent) client.fail({ reason: "unknown", message, retryable: true })
}

/** Why a turn has ended without an answer. */
const failureOf = (end: TurnEvent.TurnEnd): Failure.Failure =>
  end.error ?? {
    reason: "aborted",
    message: end.status === "aborted" ? "Holdfast was asked to give this call up." : "Holdfast gave this call up.",
    retryable: false
  }
