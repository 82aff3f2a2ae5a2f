/** Carries out the commands that a person types: each is a call of the service, and its words on the screen. */
import type { Conversation, HoldfastClient } from "@holdfast/client"
import type { PeriodReport, TurnExplanation } from "@holdfast/wire"
import type { Command } from "./editor/Command.ts"
import * as Help from "./editor/Help.ts"
import * as Keyboard from "./editor/Keyboard.ts"
import * as Explained from "./Explained.ts"
import type { Snapshot } from "./OpenConversation.ts"
import * as Foreign from "./text/Foreign.ts"
import * as Transcript from "./transcript/Transcript.ts"

/** What commands act on. */
export interface Target {
  readonly client: HoldfastClient
  readonly snapshot: () => Snapshot
  readonly set: (changes: Partial<Snapshot>) => void
  readonly write: (...entries: ReadonlyArray<Transcript.Entry>) => void
  /** The conversation, opened now if there is none. */
  readonly opened: () => Promise<Conversation>
  /** Begins another conversation, with a model or with that of the start. */
  readonly begin: (model: string | undefined) => void
  /** Reads anew what the budget leaves. */
  readonly readBudget: () => Promise<void>
  readonly lastError: () => Transcript.Seen["lastError"]
  readonly reportLines: (report: PeriodReport.PeriodReport) => ReadonlyArray<string>
  readonly explanationLines: (explanation: TurnExplanation.TurnExplanation) => ReadonlyArray<string>
}

/** Carries a command out. Fails with the error of its call. */
export const run = async (target: Target, command: Command): Promise<void> => {
  const { client, write } = target
  const { view } = target.snapshot()
  switch (command.type) {
    case "now":
      return onWait(target, (conversation) => conversation.retryNow())
    case "giveup":
      return onWait(target, (conversation) => conversation.abortRetry())
    case "wait":
      // The command has this clock's time; the service has its own.
      return onWait(target, (conversation) => conversation.waitUntil(command.until + view.clockSkewMs))
    case "extend":
      return onWait(target, async (conversation) => {
        await conversation.extendBudget(command.byMs)
        await target.readBudget()
      })
    case "switch":
      return switched(target, command.model)
    case "approve":
    case "refuse":
      return answered(target, command)
    case "auto":
      await (await target.opened()).setAutoRetry(command.enabled)
      return write(Transcript.note("notice", `Automatic retries are ${command.enabled ? "on" : "off"}.`))
    case "explain":
      return onTurn(target, async (conversation, turnId) => {
        const explanation = await conversation.turn(turnId).explain()
        write(Transcript.verbatim(target.explanationLines(explanation).join("\n")))
      })
    case "error":
      return onTurn(target, (conversation) => showError(target, conversation))
    case "report": {
      const report = await client.report(command.since === undefined ? {} : { since: command.since })
      return write(Transcript.verbatim(target.reportLines(report).join("\n")))
    }
    case "conversations":
      return listed(target)
    case "new":
      write(Transcript.note("aside", "A new conversation."))
      return target.begin(undefined)
    case "help":
      return write(Transcript.verbatim(Help.TEXT))
    case "retry":
    case "quit":
      // The keyboard has made actions of these.
      return
    default:
      return command satisfies never
  }
}

// --- internal

/** Older conversations are found by `holdfast chat --conversation`. */
const MOST_CHOICES = 50

type Call = (conversation: Conversation) => Promise<void>

/** The commands of rule X4 need a wait. */
const onWait = async ({ client, set, snapshot }: Target, call: Call): Promise<void> => {
  const { conversationId, view } = snapshot()
  if (conversationId === undefined || view.retry === undefined) return set({ notice: "No turn waits." })
  return call(client.conversation(conversationId))
}

const onTurn = async (
  { client, set, snapshot }: Target,
  call: (conversation: Conversation, turnId: string) => Promise<void>
): Promise<void> => {
  const { conversationId, view } = snapshot()
  if (conversationId === undefined || view.turn === undefined) return set({ notice: "There is no turn yet." })
  return call(client.conversation(conversationId), view.turn.turnId)
}

const switched = async (target: Target, model: string): Promise<void> => {
  const { conversationId, view } = target.snapshot()
  if (view.retry !== undefined) return onWait(target, (conversation) => conversation.switchTarget(model))
  if (conversationId === undefined) return target.begin(model)
  await target.client.conversation(conversationId).setModel(model)
  // The view has the model of the newest step.
  target.set({ model, view: { ...target.snapshot().view, model: undefined } })
  target.write(Transcript.note("notice", `${Foreign.oneLine(model)} answers from the next prompt on.`))
}

/** Answers the question about tool calls: the first call, or all of them. */
const answered = async (
  { client, set, snapshot, write }: Target,
  command: Extract<Command, { readonly type: "approve" | "refuse" }>
): Promise<void> => {
  const { conversationId, view } = snapshot()
  const calls = view.retry?.asks?.calls ?? []
  if (conversationId === undefined || calls.length === 0) return set({ notice: "No tool call waits for you." })
  const conversation = client.conversation(conversationId)
  const isAll = command.type === "approve" && command.isAll
  for (const { toolCallId, toolName } of isAll ? calls : calls.slice(0, 1)) {
    if (command.type === "approve") await conversation.approveTool(toolCallId)
    else await conversation.refuseTool(toolCallId, command.reason === undefined ? {} : { reason: command.reason })
    write(Transcript.note("aside", `${command.type === "approve" ? "Approved" : "Refused"}: ${toolName}`))
  }
}

/** The last error, word for word, and the provider's whole response where it has more. */
const showError = async ({ lastError, set, write }: Target, conversation: Conversation): Promise<void> => {
  const error = lastError()
  if (error === undefined) return set({ notice: "There was no error." })
  const turn = conversation.turn(error.turnId)
  const body = await turn.explain().then(Explained.lastBody, () => undefined)
  write(
    Transcript.verbatim(error.code === undefined ? error.message : `${error.code} ${error.message}`),
    ...(body === undefined || body.trim() === error.message.trim() ? [] : [Transcript.verbatim(body)])
  )
}

const listed = async ({ client, set, snapshot }: Target): Promise<void> => {
  const choices: Array<Keyboard.Choice> = []
  for await (const { conversationId, isBusy, lastTurnId, title } of client.listConversations()) {
    const name = title ?? (lastTurnId === undefined ? "(empty)" : conversationId)
    choices.push({ id: conversationId, title: `${isBusy ? "● " : "  "}${Foreign.oneLine(name)}` })
    if (choices.length === MOST_CHOICES) break
  }
  if (choices.length === 0) return set({ notice: "There is no conversation yet." })
  return set({ keyboard: Keyboard.choosing(snapshot().keyboard, choices) })
}
