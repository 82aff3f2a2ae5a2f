/**
 * `Conversations` on any runner: whatever concerns a conversation goes to the runner that owns it.
 *
 * C1. A message whose owner goes is sent again, to the next one. So turns and commands get their ids here, before they are
 *     sent, and are the same turn and the same command when they come twice; and a command names the turn that it is for.
 * C2. A stream goes on at the next owner after the last id that came (`Owner`). One of a conversation in memory here takes no messages (`LocalWatch`).
 * C4. A held call whose client is here is reached here (`HeldRunner`), and one whose client is elsewhere there (`HeldCommands`, `HeldReads`).
 * C3. What needs no owner is done here: a conversation is created (`LocalId`), and its history read, in the database.
 */
import { Push } from "@holdfast/kernel/host"
import { type Command, defined, Ids } from "@holdfast/wire"
import { Effect, Layer, Option } from "effect"
import { Sharding } from "effect/cluster"
import { Conversations, type Frame } from "../conversation/Conversations.ts"
import * as TurnCommands from "../conversation/TurnCommands.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Store } from "../storage/Store.ts"
import * as TurnIds from "../storage/TurnIds.ts"
import { Alarms } from "./Alarms.ts"
import { ConversationEntity } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"
import * as GroupedCommands from "./GroupedCommands.ts"
import * as HeldCommands from "./HeldCommands.ts"
import * as HeldReads from "./HeldReads.ts"
import { HeldRunner } from "./HeldRunner.ts"
import * as LocalId from "./LocalId.ts"
import * as LocalWatch from "./LocalWatch.ts"
import * as Owner from "./Owner.ts"
import type { Residents } from "./Residents.ts"
import { RunnerEntity } from "./RunnerEntity.ts"

/**
 * Routes over the cluster.
 *
 * @param unowned does what needs no owner (C3); runs no turns
 * @param residents what this runner has in memory
 */
export const layer = <E, R>(
  unowned: Layer.Layer<Conversations, E, R>,
  residents: Residents
): Layer.Layer<Conversations, E, R | Store | Alarms | HeldRunner | Sharding.Sharding> =>
  Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const { create, messages } = yield* Conversations
      const store = yield* Store
      const alarms = yield* Alarms
      const sharding = yield* Sharding.Sharding
      const client = yield* ConversationEntity.client
      const runner = yield* RunnerEntity.client
      const reached = Owner.reached(store.check)
      /** The turn that a command is meant for (C1). */
      const headOf = (id: Ids.ConversationId, meant: Ids.TurnId | undefined) =>
        meant === undefined
          ? Effect.map(reached(client(id).Head()), (turnId) => turnId ?? undefined)
          : Effect.succeed(meant)
      const conversationOf = (turnId: Ids.TurnId, within: Ids.ConversationId | undefined) =>
        within === undefined
          ? Effect.flatMap(
              store.turn(turnId),
              Option.match({
                onNone: () => Effect.die(new Error(`turn ${turnId} was never accepted`)),
                onSome: ({ conversationId }) => Effect.succeed(conversationId)
              })
            )
          : Effect.succeed(within)
      /**
       * Frames without messages, where the conversation is in memory here; otherwise those of its owner. Those of a held call come from
       * where its client is (C4).
       */
      const locally = (
        id: Ids.ConversationId,
        here: (conversations: Conversations["Service"]) => Watched,
        isLast: (frame: Frame) => boolean,
        elsewhere: (received: number) => Watched
      ): Watched =>
        Push.unwrap(
          Effect.sync(() => {
            const place = residents.find(id)
            if (place === undefined || HeldCallIds.isHeld(id)) return elsewhere(0)
            const { conversations, left } = place
            return LocalWatch.watch({
              here: here(conversations),
              left,
              attend: client(id).Attend(),
              elsewhere,
              isLast
            })
          })
        )

      const { find, locate } = yield* HeldRunner
      const abortAtOwner: Conversations["Service"]["abort"] = (id, meant) =>
        Effect.flatMap(headOf(id, meant), (turnId) =>
          turnId === undefined ? Effect.succeed(false) : reached(client(id).Abort({ turnId }))
        )
      const held = (sent: HeldCommands.Sent, unattached?: ReturnType<Conversations["Service"]["abort"]>) =>
        HeldCommands.send(
          {
            store,
            locate,
            toRunner: (at, command, origin) => reached(runner(at).HeldCommand({ command, origin }))
          },
          sent,
          unattached
        )
      const abort: Conversations["Service"]["abort"] = (id, meant) =>
        HeldCallIds.isHeld(id)
          ? Effect.catchTag(
              held({ command: { type: "abort", conversationId: id }, origin: "", meant }, abortAtOwner(id, meant)),
              "InvalidRequest",
              Effect.die // Only other commands have anything to refuse.
            )
          : abortAtOwner(id, meant)
      const steer: Conversations["Service"]["steer"] = (steering, origin, meant) => {
        const command = identified(steering)
        const { conversationId } = command
        if (HeldCallIds.isHeld(conversationId)) return held({ command, origin, meant })
        return Effect.flatMap(headOf(conversationId, meant), (turnId) =>
          reached(client(conversationId).Steer({ command, origin, ...defined({ turnId }) }))
        )
      }

      const retry: Conversations["Service"]["retry"] = (id, { isSubmitted, turnId = TurnIds.make() }) =>
        reached(client(id).Retry({ turnId, ...defined({ isSubmitted }) }))
      /** At this runner, if it holds the call (C4). */
      const each: Pick<Conversations["Service"], "abort" | "retry" | "steer"> = {
        retry,
        abort: (id, meant) => find(id)?.abort(id, meant) ?? abort(id, meant),
        steer: (steering, ...meant) =>
          find(steering.conversationId)?.steer(steering, ...meant) ?? steer(steering, ...meant)
      }
      const clustered = Conversations.of({
        create: (options) => create({ ...options, conversationId: options.conversationId ?? LocalId.next(sharding) }),
        messages,
        counts: residents.counts(alarms),
        prompt: (id, { isSubmitted, labels, prompt, turnId = TurnIds.make(), webhook }) =>
          reached(client(id).Prompt({ prompt, turnId, ...defined({ labels, isSubmitted, webhook }) })),
        retry,
        endStreams: (id) => reached(client(id).EndStreams()),
        abort,
        steer,
        commandAll: (commands, origin) =>
          GroupedCommands.run(
            {
              toOwner: (id, commands) =>
                reached<ReadonlyArray<GroupedCommands.RunnerOutcome>, never>(
                  runner(id).CommandAll({ commands, origin })
                ),
              alone: (commands) => TurnCommands.each(each, commands, origin)
            },
            commands.map(({ command, turnId }) => ({
              turnId,
              command: command.type === "abort" || command.type === "retry" ? command : identified(command) // C1
            }))
          ),
        setAutoRetry: (id, enabled) => reached(client(id).SetAutoRetry({ enabled })),
        setModel: (id, model, { ifOther } = {}) => reached(client(id).SetModel({ model, ...defined({ ifOther }) })),
        setToolAnswers: (id, toolAnswers) => reached(client(id).SetToolAnswers({ toolAnswers })),
        state: (id) => reached(HeldReads.ask(locate, id, (at) => runner(at).HeldState({ id }), client(id).State())),
        result: (turnId, within) =>
          Effect.flatMap(conversationOf(turnId, within), (id) =>
            Owner.awaited(
              HeldReads.ask(locate, id, (at) => runner(at).HeldResult({ id, turnId }), client(id).Result({ turnId }))
            )
          ),
        watch: (id, after) =>
          locally(
            id,
            (conversations) => conversations.watch(id, after),
            () => false,
            (received) =>
              Owner.followed(
                after,
                (after) =>
                  HeldReads.watch(locate, id, (at) => runner(at).HeldWatch({ id, after }), client(id).Watch({ after })),
                () => false,
                received
              )
          ),
        watchTurn: (turnId, within) =>
          Push.unwrap(
            Effect.map(conversationOf(turnId, within), (id) =>
              locally(
                id,
                (conversations) => conversations.watchTurn(turnId, id),
                Frames.isEnd,
                (received) =>
                  // A turn's events are sent from its first: events that were received before are left out again.
                  Owner.followed(
                    0,
                    () =>
                      HeldReads.watch(
                        locate,
                        id,
                        (at) => runner(at).HeldWatch({ id, after: 0, turnId }),
                        client(id).WatchTurn({ turnId })
                      ),
                    Frames.isEnd,
                    received
                  )
              )
            )
          )
      })
      const at = (id: Ids.ConversationId | undefined): Conversations["Service"] =>
        (id === undefined ? undefined : find(id)) ?? clustered
      return Conversations.of({
        ...clustered,
        prompt: (id, options) => at(id).prompt(id, options),
        ...each,
        setAutoRetry: (id, enabled) => at(id).setAutoRetry(id, enabled),
        state: (id) => at(id).state(id),
        result: (turnId, within) => at(within).result(turnId, within),
        watch: (id, after) => at(id).watch(id, after),
        watchTurn: (turnId, within) => at(within).watchTurn(turnId, within)
      })
    })
  ).pipe(Layer.provide(Layer.fresh(unowned)))

// --- internal

type Watched = ReturnType<Conversations["Service"]["watch"]>

/** C1 */
const identified = (steering: Command.Steering): Command.Steering => ({
  ...steering,
  commandId: steering.commandId ?? Ids.CommandId.make(globalThis.crypto.randomUUID())
})
