/**
 * Defects that are put in by hand, to learn which of them nights find: races that this repository has mended, and rules that are broken on
 * purpose. Each replaces a piece of one source while a worker loads it.
 */

import type { Aim } from "./AimedPlan.ts"

/** A defect: `find` stands once in the source. */
export interface Defect {
  readonly name: string
  readonly path: string
  readonly find: string
  readonly replace: string
  /** The part that only some nights have: the others are counted, and not run. */
  readonly needs?: "programs" | "runners" | Aim
}

const SERVICE = "apps/session-orchestrator/src"

export const DEFECTS: ReadonlyArray<Defect> = [
  {
    name: "content leaves before its mark is on disk (X2)",
    path: "packages/kernel/src/internal/calls/Attempt.ts",
    find: "if (this.isReleased || !events.some(isContent)) return this.take(events)",
    replace: "if (Date.now() > 0) return this.take(events)"
  },
  {
    name: "an attempt is retried after content (D4)",
    path: "packages/kernel/src/turn/Directive.ts",
    find: 'if (contentSeen && !isVoid(situation)) return "after-content"',
    replace: ""
  },
  {
    name: "a tool runs again after a death (X8)",
    path: "packages/kernel/src/engine/Performer.ts",
    find: "return Effect.succeed({ output: ModelContext.INTERRUPTED, isError: true })",
    replace: ""
  },
  {
    name: "a command that was taken is taken again (X4)",
    path: `${SERVICE}/engine/pacing/TurnWait.ts`,
    find: "if (this.recorded.has(commandId)) return Effect.succeed(true) // TurnWait.W2",
    replace: "",
    needs: "commands at once"
  },
  {
    name: "commands before a restart are forgotten (X4)",
    path: `${SERVICE}/engine/driver/Entrance.ts`,
    find: "turn.wait.markTaken(RecordedWait.commandIdsOf(known))",
    replace: ""
  },
  {
    name: "a command is answered before it is recorded (X4)",
    path: `${SERVICE}/engine/pacing/TurnWait.ts`,
    find: "this.report()\n    return Deferred.await(pending.answer)",
    replace: "this.report()\n    return Effect.succeed(true)"
  },
  {
    name: "an abort is answered before the seal (X4)",
    path: `${SERVICE}/engine/orchestrator/Commands.ts`,
    find: "return Effect.as(Deferred.await(turn.ended), true)",
    replace: "return Effect.succeed(true)"
  },
  {
    name: "a command without effect takes a turn that stands by out of its parking (mended in ebe1a450)",
    path: `${SERVICE}/engine/driver/Waits.ts`,
    find: 'if (life.residence !== "parked") return sleep(loop, turn, starts)',
    replace: ""
  },
  {
    name: "a wait that was read before its time is resumed twice (mended in ebe1a450)",
    path: `${SERVICE}/engine/pacing/TurnWait.ts`,
    find: "this.onNews = undefined\n    this.isResumed = false\n    onNews()",
    replace: "this.onNews = undefined\n    onNews()"
  },
  {
    name: "a wait begins anew at a restart (X1)",
    path: "packages/journal/src/RecordedWait.ts",
    find: "isMoved ? retryAt : Math.min(retryAt, now + (retryAt - since))",
    replace: "isMoved ? retryAt : now + (retryAt - since)"
  },
  {
    name: "a parked turn leaves its timer behind (D11)",
    path: `${SERVICE}/engine/parking/Parking.ts`,
    find: "this.turns.delete(conversationId) // Parking.P2\n    entry?.cancel()",
    replace: "this.turns.delete(conversationId) // Parking.P2"
  },
  {
    name: "a turn wakes when its time is near (D11)",
    path: `${SERVICE}/engine/parking/Parking.ts`,
    find: "if (this.isReadable(conversationId)) this.listener.near(conversationId, entry)\n      return",
    replace: "if (this.isReadable(conversationId)) return void this.leave(conversationId, elapsed)\n      return"
  },
  {
    name: "turns that are due soon start with those that are due (X1)",
    path: "packages/journal/src/Spread.ts",
    find: "sleepers.filter(({ wakeAt }) => wakeAt <= now)",
    replace: "sleepers.filter(({ wakeAt }) => wakeAt <= now + 5_000)"
  },
  {
    name: "a turn passes a parked turn before it (C1)",
    path: `${SERVICE}/engine/orchestrator/TurnQueue.ts`,
    find: "ahead ?? (this.parking.find(conversationId) === undefined ? head : undefined)",
    replace: "ahead ?? head"
  },
  {
    name: "turns that are here are taken up again with one that is not (X4)",
    path: `${SERVICE}/engine/orchestrator/Acceptance.ts`,
    find: "turns.filter(({ turnId }) => !queue.has({ conversationId, turnId }))",
    replace: "turns.filter(({ turnId }) => turnId !== undefined)",
    needs: "a prompt in doubt"
  },
  {
    name: "an unsealed turn that is not here is not taken up by its prompt (Acceptance.A4)",
    path: `${SERVICE}/engine/orchestrator/Acceptance.ts`,
    find: 'if (acceptance._tag === "Known" && isUnowned(acceptance.turn, queue)) yield*',
    replace: "if (Date.now() < 0) yield*",
    needs: "an owner that dies in doubt"
  },
  {
    name: "a write that the disk refuses counts as made (Driver.D1)",
    path: `${SERVICE}/engine/driver/Appends.ts`,
    find: 'if (error?._tag === "StorageError") return this.rewrite(turn, write, error)',
    replace:
      'if (error?._tag === "StorageError") { turn.writing?.over(); turn.writing = undefined; return this.loop.written(turn, write.append, []) }',
    needs: "a refused write"
  },
  {
    name: "a call goes on after an abort (D8)",
    path: `${SERVICE}/engine/driver/Driver.ts`,
    find: "turn.call?.cancel()\n    for",
    replace: "for"
  },
  {
    name: "events that were read from disk come again from memory (X3)",
    path: `${SERVICE}/engine/session/Watching.ts`,
    find: "return known.size === 0 ? frames : frames.filter(({ event }, at) => at > (known.get(event.turnId) ?? -1))",
    replace: "return frames",
    needs: "watchers at the end"
  },
  {
    name: "an event that has not passed the hub is read from disk (Watching.V3)",
    path: `${SERVICE}/engine/session/Watching.ts`,
    find: "Stream.takeWhile(({ id }) => id <= after || id <= (hub.lastId ?? id)), // Watching.V3",
    replace: "",
    needs: "watchers at the end"
  },
  {
    name: "void content stays for clients that come later (X2)",
    path: `${SERVICE}/engine/session/InProgress.ts`,
    find: 'if (event.type === "message" || event.type === "turn-end" || event.type === "step-discarded") this.clear()',
    replace: 'if (event.type === "message" || event.type === "turn-end") this.clear()'
  },
  {
    name: "a wait in memory ends a millisecond late (D1)",
    path: `${SERVICE}/engine/driver/Waits.ts`,
    find: "const end = Math.min(retryAt, now + leftMs)",
    replace: "const end = Math.min(retryAt, now + leftMs) + 1"
  },
  {
    name: "a limit of spending is passed by one step (X11)",
    path: `${SERVICE}/config/limits/SpendLimits.ts`,
    find: "spent.tokens >= tokens",
    replace: "spent.tokens > tokens"
  },
  {
    name: "a retry more than the cap is made (A2)",
    path: "packages/policy/src/decision/RetryPolicy.ts",
    find: "if (attempt >= (mostRetries(policy) ?? Infinity))",
    replace: "if (attempt > (mostRetries(policy) ?? Infinity))"
  },
  {
    name: "the last wait exceeds the budget (D1)",
    path: "packages/policy/src/decision/Budget.ts",
    find: "if (delayMs <= leftMs) return delayMs",
    replace: "if (leftMs > 0) return delayMs"
  },
  {
    name: "a command that is on its way is taken a second time (X4)",
    path: `${SERVICE}/engine/pacing/TurnWait.ts`,
    find: "if (known !== undefined) return Deferred.await(known.answer) // TurnWait.W2",
    replace: "",
    needs: "commands at once"
  },
  {
    name: "a command is answered in the middle of its turn (mended in f7996d74)",
    path: `${SERVICE}/engine/pacing/TurnWait.ts`,
    find: "queueMicrotask(() => Deferred.doneUnsafe(answer, outcome))",
    replace: "void Deferred.doneUnsafe(answer, outcome)"
  },
  {
    name: "an end that a person has moved ends the wait (TurnWait.W3)",
    path: `${SERVICE}/engine/pacing/TurnWait.ts`,
    find: 'if (wake.type === "until") this.isDue = false',
    replace: "",
    needs: "the end of a wait"
  },
  {
    name: "a command for one turn reaches another (Commands.M4)",
    path: `${SERVICE}/engine/orchestrator/Commands.ts`,
    find: "turnId === undefined || turn.turnId === turnId // Commands.M4",
    replace: "turn !== undefined",
    needs: "a turn of before"
  },
  {
    name: "a turn that has to wait is opened in the log at once (C1)",
    path: `${SERVICE}/engine/orchestrator/Acceptance.ts`,
    find: "const isOpened = isFree(queue, session)",
    replace: "const isOpened = true"
  },
  {
    name: "the first events of a turn do not pass the hub (X3)",
    path: `${SERVICE}/engine/orchestrator/Acceptance.ts`,
    find: "if (opening !== undefined) session.hub.persisted(opening)",
    replace: ""
  },
  {
    name: "a turn that is run again emits its events again (Hub.H4)",
    path: `${SERVICE}/engine/session/Hub.ts`,
    find: "if (this.last !== undefined && id <= this.last) continue // Hub.H4\n      this.last = id",
    replace: "this.last = id"
  },
  {
    name: "content that a client has is withdrawn (X7)",
    path: `${SERVICE}/engine/session/Hub.ts`,
    find: "if (this.isReceived) return false",
    replace: "",
    needs: "unseen content"
  },
  {
    name: "content that a client gets as it comes is withdrawn (Hub.H5)",
    path: `${SERVICE}/engine/session/Hub.ts`,
    find: "if (contentOf !== undefined && subscriber.watches(contentOf)) this.isReceived = true",
    replace: "",
    needs: "unseen content"
  },
  {
    name: "withdrawn content is given to later clients (X7)",
    path: `${SERVICE}/engine/session/InProgress.ts`,
    find: "withdraw(): void {\n    this.last = undefined\n    this.content.length = 0",
    replace: "withdraw(): void {",
    needs: "unseen content"
  },
  {
    name: "a prompt that is cancelled in the queue ends what the running turn has in progress (mended in 9eccf6af)",
    path: `${SERVICE}/engine/session/Hub.ts`,
    find: "if (this.last !== undefined) this.last = id\n",
    replace: "if (this.last !== undefined) this.last = id\n      this.inProgress.persisted(event)\n"
  },
  {
    name: "frames that one client has taken are gone for slower ones (Backlog.B1)",
    path: `${SERVICE}/engine/session/Backlog.ts`,
    find: "if (this.lagging === 0) this.pages = []",
    replace: "this.pages = []"
  },
  {
    name: "a wait is announced again where it goes on (D5)",
    path: `${SERVICE}/engine/session/InProgress.ts`,
    find: "this.dueAt === event.retryAt &&",
    replace: "this.dueAt === -1 &&"
  },
  {
    name: "a message of a provider is kept with its key (C13)",
    path: "packages/providers/src/KeyRedaction.ts",
    find: "message: conceal(failure.message),",
    replace: "message: failure.message,"
  },
  {
    name: "one call more than the limit is made",
    path: "packages/policy/src/gate/Allowance.ts",
    find: ">= calls) return Infinity",
    replace: "> calls) return Infinity"
  },
  {
    name: "a silent provider is waited for without end (C8)",
    path: "packages/providers/src/limits/Limits.ts",
    find: "const limitMs = this.isFirst ? firstContentMs : idleMs",
    replace: "const limitMs = this.isFirst ? Infinity : idleMs"
  },
  {
    name: "a refused tool call is run (approval)",
    path: "packages/kernel/src/internal/machine/Approvals.ts",
    find: "return wake.approved ? {}",
    replace: "return wake.approved || wake ? {}"
  },
  {
    name: "a call that no person approved in time is run (approval)",
    path: "packages/kernel/src/internal/machine/Approvals.ts",
    find: 'if (wake.type === "elapsed") return {',
    replace: 'if (wake.type === "elapsed") return Date.now() > 0 ? {} : {'
  },
  {
    name: "a wait above the longest is waited for (P6)",
    path: "packages/policy/src/decision/RetryPolicy.ts",
    find: 'if (baseMs > capMs) return RetryDecision.Refused({ because: "max-delay", delayMs: baseMs })',
    replace: ""
  },
  {
    name: "a slow client does not slow its endpoint (X13)",
    path: `${SERVICE}/gateway/ClientAnswer.ts`,
    find: "if (this.response.write(bytes)) return true",
    replace: "if (this.response.write(bytes) || this.response !== undefined) return true",
    needs: "programs"
  },
  {
    name: "an answer to a slow client does not go on (X13)",
    path: `${SERVICE}/gateway/ClientAnswer.ts`,
    find: 'this.response.once("drain", onDrain)',
    replace: "void onDrain",
    needs: "programs"
  },
  {
    name: "a client that waits gets one heartbeat",
    path: `${SERVICE}/gateway/ClientAnswer.ts`,
    find: "cancel = wait(BEAT_MS)\n",
    replace: "\n",
    needs: "programs"
  },
  {
    name: "a wait does not outlive a login (X13)",
    path: `${SERVICE}/gateway/LocalWaits.ts`,
    find: "isRenewable ? wait.key.startsWith(call) : wait.key === key",
    replace: "wait.key === key && (isRenewable || call !== undefined)",
    needs: "programs"
  },
  {
    name: "a wait does not outlive its process (X13)",
    path: `${SERVICE}/gateway/Gateway.ts`,
    find: "if (known !== undefined) yield* waits.left({",
    replace: "if (known !== undefined && Date.now() < 0) yield* waits.left({",
    needs: "programs"
  },
  {
    name: "a wait ends when its client leaves",
    path: `${SERVICE}/gateway/LocalWaits.ts`,
    find: "waits.add({ wait, until: now + KEPT_MS })",
    replace: "waits.add({ wait, until: now })",
    needs: "programs"
  },
  {
    name: "a client that leaves keeps its endpoint's connection (X13)",
    path: `${SERVICE}/gateway/Relay.ts`,
    find: "readonly cancel = (): void => {\n    this.close()",
    replace: "readonly cancel = (): void => {",
    needs: "programs"
  },
  {
    name: "a client's credential goes to another provider (X13)",
    path: `${SERVICE}/gateway/GatedCall.ts`,
    find: "const headers = ProviderName.hasClientKey(target.provider)",
    replace: 'const headers = call.key._tag === "Client"',
    needs: "programs"
  },
  {
    name: "records of two runners look alike (mended in 413b337b)",
    path: "packages/journal/src/sql/JournalTable.ts",
    find: "a.value === b.value && a.writer === b.writer",
    replace: "a.value === b.value",
    needs: "a stale write"
  },
  {
    name: "a runner is sure of locks that it has lost (Lease.L1)",
    path: `${SERVICE}/cluster/Lease.ts`,
    find: "export const SURE_MS = EXPIRATION_MS - 1_000",
    replace: "export const SURE_MS = EXPIRATION_MS + 600_000",
    needs: "a stale owner"
  },
  {
    name: "a stale runner writes to a sealed turn (mended in ab0ccc62)",
    path: `${SERVICE}/storage/TurnLog.ts`,
    find: "appends.filter((append) => !isLate(append, ends.get(append.turnId)))",
    replace: "appends.filter((append) => !isLate(append, ends.get(append.turnId)) || append !== undefined)",
    needs: "a stale write"
  },
  {
    name: "a lock in doubt keeps no append back (mended in 68ad40ae)",
    path: `${SERVICE}/cluster/Fence.ts`,
    find: "if (shards.isSure(conversationId)) return undefined\n      const isOurs",
    replace: "if (shards.isSure(conversationId) || Date.now() > 0) return undefined\n      const isOurs",
    needs: "runners"
  },
  {
    name: "an acceptance in doubt is answered (Fence)",
    path: `${SERVICE}/cluster/Fence.ts`,
    find: "if (tenure.isLost) return Effect.interrupt",
    replace: "if (tenure !== undefined) return Effect.succeed(accepted)",
    needs: "an owner that dies in doubt"
  },
  {
    name: "events of the next owner come again (Owner.O2)",
    path: `${SERVICE}/cluster/Owner.ts`,
    find: "const frames = chunk.some(isKnown) ? chunk.filter((frame) => !isKnown(frame)) : chunk",
    replace: "const frames = chunk.length === 0 ? chunk.filter((frame) => !isKnown(frame)) : chunk",
    needs: "runners"
  },
  {
    name: "a stream of the next owner begins behind what comes (Owner.O2)",
    path: `${SERVICE}/cluster/Owner.ts`,
    find: "open(last === 0 ? after : last)",
    replace: "open(last === 0 ? after : last + 1)",
    needs: "watchers of two owners"
  },
  {
    name: "a command without a turn reaches the next one (Remote.E1)",
    path: `${SERVICE}/cluster/Router.ts`,
    find: "meant === undefined && !HeldCallIds.isHeld(id)",
    replace: "meant === undefined && Date.now() < 0",
    needs: "an abort of two owners"
  }
]
