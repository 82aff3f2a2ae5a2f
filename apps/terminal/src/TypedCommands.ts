/** Carries out the commands that a person types: each is a call of the service, and its words on the screen. */
import type { Conversation, HoldfastClient } from "@holdfast/client"
import type { PeriodReport, TurnExplanation } from "@holdfast/wire"
import { type SlashCommand, COMMANDS } from "./editor/SlashCommand.ts"
import * as KeyBindings from "./editor/KeyBindings.ts"
import * as Explained from "./Explained.ts"
import type { Cell } from "./Snapshot.ts"
import * as Foreign from "./text/Foreign.ts"
import * as Transcript from "./transcript/Transcript.ts"
import type { ConversationWatch } from "./ConversationWatch.ts"

/** What commands act on. */
export interface CommandTarget {
  readonly client: HoldfastClient
  readonly cell: Cell
  readonly watching: ConversationWatch
  /** The model of the start. */
  readonly initialModel: string | undefined
  readonly reportLines: (report: PeriodReport.PeriodReport) => ReadonlyArray<string>
  readonly explanationLines: (explanation: TurnExplanation.TurnExplanation) => ReadonlyArray<string>
}

/** Carries a command out. Fails with the error of its call. */
export const run = async (target: CommandTarget, command: SlashCommand): Promise<void> => {
  const { cell, client, watching } = target
  const { write } = cell
  const { view } = cell.read()
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
        await watching.readBudget()
      })
    case "switch":
      return switched(target, command.model)
    case "approve":
    case "refuse":
      return answered(target, command)
    case "forget":
      if (cell.read().conversationId === undefined) return cell.set({ notice: "There is no conversation yet." })
      await (await watching.opened()).setToolAnswers({})
      return write(Transcript.note("notice", "You are asked about each tool call that needs approval."))
    case "auto":
      await (await watching.opened()).setAutoRetry(command.enabled)
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
      return watching.detach(target.initialModel)
    case "help":
      return write(Transcript.verbatim(HELP))
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
const onWait = async ({ cell, client }: CommandTarget, call: Call): Promise<void> => {
  const { conversationId, view } = cell.read()
  if (conversationId === undefined || view.retry === undefined) return cell.set({ notice: "No turn waits." })
  return call(client.conversation(conversationId))
}

const onTurn = async (
  { cell, client }: CommandTarget,
  call: (conversation: Conversation, turnId: string) => Promise<void>
): Promise<void> => {
  const { conversationId, view } = cell.read()
  if (conversationId === undefined || view.turn === undefined) return cell.set({ notice: "There is no turn yet." })
  return call(client.conversation(conversationId), view.turn.turnId)
}

const switched = async (target: CommandTarget, model: string): Promise<void> => {
  const { cell, client, watching } = target
  const { conversationId, view } = cell.read()
  if (view.retry !== undefined) return onWait(target, (conversation) => conversation.switchTarget(model))
  if (conversationId === undefined) return watching.detach(model)
  await client.conversation(conversationId).setModel(model)
  watching.choose(model)
  cell.write(Transcript.note("notice", `${Foreign.oneLine(model)} answers from the next prompt on.`))
}

/** Answers the question about tool calls: the first call, or all of them. */
const answered = async (
  { cell, client }: CommandTarget,
  command: Extract<SlashCommand, { readonly type: "approve" | "refuse" }>
): Promise<void> => {
  const { conversationId, view } = cell.read()
  const calls = view.retry?.asks?.calls ?? []
  if (conversationId === undefined || calls.length === 0) return cell.set({ notice: "No tool call waits for you." })
  const conversation = client.conversation(conversationId)
  const how = {
    approve: command.type === "approve",
    ...(command.of === "always" ? { always: true } : {}),
    ...(command.type === "approve" || command.reason === undefined ? {} : { reason: command.reason })
  }
  for (const { toolCallId, toolName } of command.of === "all" ? calls : calls.slice(0, 1)) {
    await conversation.answerTool({ toolCallId, ...how })
    const done = how.approve ? "Approved" : "Refused"
    const words = command.of === "always" ? `${done} always` : done
    cell.write(Transcript.note("aside", `${words}: ${toolName}`))
  }
}

/** The last error, word for word, and the provider's whole response where it has more. */
const showError = async ({ cell, watching }: CommandTarget, conversation: Conversation): Promise<void> => {
  const error = watching.lastError
  if (error === undefined) return cell.set({ notice: "There was no error." })
  const turn = conversation.turn(error.turnId)
  const body = await turn.explain().then(Explained.lastBody, () => undefined)
  cell.write(
    Transcript.verbatim(error.code === undefined ? error.message : `${error.code} ${error.message}`),
    ...(body === undefined || body.trim() === error.message.trim() ? [] : [Transcript.verbatim(body)])
  )
}

const listed = async ({ cell, client }: CommandTarget): Promise<void> => {
  const choices: Array<KeyBindings.Choice> = []
  for await (const { conversationId, isBusy, lastTurnId, title } of client.listConversations()) {
    const name = title ?? (lastTurnId === undefined ? "(empty)" : conversationId)
    choices.push({ id: conversationId, title: `${isBusy ? "● " : "  "}${Foreign.oneLine(name)}` })
    if (choices.length === MOST_CHOICES) break
  }
  if (choices.length === 0) return cell.set({ notice: "There is no conversation yet." })
  return cell.set({ keyboard: KeyBindings.choosing(cell.read().keyboard, choices) })
}

/** The text of `/help`: keys, and all commands. */
const HELP = [
  "Keys",
  "  Enter             send; on an empty line after an error or an abort: ask again",
  "  Alt-Enter, Ctrl-J new line (Shift-Enter where the terminal has it, or \\ and Enter)",
  "  Esc               cancel the retry, abort the turn, or clear the line",
  "  Up, Down          within the text, then earlier prompts",
  "  Tab               complete a command",
  "  Ctrl-D, Ctrl-C    leave; a turn that runs or waits goes on",
  "",
  "Commands",
  ...COMMANDS.map(({ does, usage }) => `  ${usage.padEnd(24)} ${does}`)
].join("\n")
