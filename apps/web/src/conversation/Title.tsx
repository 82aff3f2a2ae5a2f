/** The head of a conversation: its title and model, which a person can change, and the tools that run or are refused without a question. */
import { ConversationView } from "@holdfast/client"
import { type ConversationState, HeldCall } from "@holdfast/wire"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useRef, useState } from "react"
import { flushSync } from "react-dom"
import * as Service from "../service/Service.ts"
import * as Actions from "../palette/Actions.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import { LineForm } from "./LineForm.tsx"
import { Menu } from "./Menu.tsx"
import { CommandFailure, useCommand } from "./CommandFailure.tsx"
import type { Entries } from "../list/useConversations.ts"
import { ModelForm } from "./ModelForm.tsx"

interface TitleProps {
  readonly conversationId: string
  readonly model: string | undefined
  /** Answers of a person that hold for every call of a tool. */
  readonly toolAnswers: ConversationState.ToolAnswers | undefined
  /** The wait of its turn. */
  readonly retry: ConversationView.ShownRetry | undefined
  /** Shown until the title is there. */
  readonly prompt: string | undefined
}

/** The head of a conversation. */
export const Title = ({ conversationId, model, prompt, retry, toolAnswers }: TitleProps) => {
  const [isEdited, setIsEdited] = useState(false)
  const rename = useRef<HTMLButtonElement>(null)
  const queries = useQueryClient()
  const { failure, send } = useCommand(conversationId)
  const { data: title } = useQuery({
    queryKey: ["title", conversationId],
    queryFn: ({ signal }) => titleOf(conversationId, signal),
    // The list has most titles.
    placeholderData: () =>
      queries
        .getQueriesData<Entries>({ queryKey: ["conversations"] })
        .flatMap(([, data]) => data?.entries ?? [])
        .find(({ conversation }) => conversation.conversationId === conversationId)?.conversation.title,
    // A title is the beginning of the first prompt, which may come later.
    refetchInterval: ({ state }) => (state.data === "" && prompt === undefined ? ASK_AGAIN_MS : false)
  })
  const shown = title === undefined || title === "" ? (prompt ?? "Conversation") : title
  // Its title is that of the program's request, and its model that of the wait.
  const isHeld = HeldCall.isHeld(conversationId)
  Actions.useActions(
    "This conversation",
    isHeld ? [] : [{ name: "Rename", words: "title", run: () => setIsEdited(true) }]
  )
  const close = (): void => {
    flushSync(() => setIsEdited(false))
    // The field that had the focus is gone.
    rename.current?.focus()
  }
  return (
    <div className="title">
      {retry === undefined ? (
        <TabTitle text={shown} />
      ) : (
        <WaitingTabTitle conversationId={conversationId} retry={retry} text={shown} />
      )}
      <a className="back" href={PageRoute.format({ page: "conversations" })}>
        <span aria-hidden="true">←</span> <span className="hidden">All conversations</span>
      </a>
      {isEdited ? (
        <LineForm
          label="Title"
          isLabelHidden
          submit="Save"
          field={{ maxLength: 200, defaultValue: title ?? "" }}
          onGiven={(text) => {
            close()
            send(async (conversation) => {
              await conversation.setTitle(text)
              queries.setQueryData(["title", conversationId], text)
              await Service.readAgain(queries, "conversations")
            })
          }}
          onLeft={close}
        />
      ) : (
        <>
          <h1>{shown}</h1>
          {!isHeld && (
            <button ref={rename} type="button" className="small" onClick={() => setIsEdited(true)}>
              Rename
            </button>
          )}
        </>
      )}
      {model !== undefined &&
        (isHeld ? (
          <span className="model quiet">{model}</span>
        ) : (
          <Model conversationId={conversationId} model={model} />
        ))}
      {!isHeld && <Menu conversationId={conversationId} title={shown} />}
      <ToolAnswers conversationId={conversationId} answers={toolAnswers ?? {}} />
      <CommandFailure failure={failure} />
    </div>
  )
}

// --- internal

const TabTitle = ({ text }: { readonly text: string }) => <title>{`${text} · Holdfast`}</title>

interface WaitingTabTitleProps extends Pick<TitleProps, "conversationId"> {
  readonly retry: ConversationView.ShownRetry
  readonly text: string
}

/** The title of a tab that is not looked at: when its turn goes on, or that it asks. */
const WaitingTabTitle = ({ conversationId, retry, text }: WaitingTabTitleProps) => {
  const left = ConversationView.remainingMs(retry, useNow())
  const due = HeldCall.dueWords(conversationId, left) ?? "now"
  const wait = retry.asks !== undefined ? "asks" : left > 0 ? Moments.countdown(left) : due
  return <TabTitle text={`(${wait}) ${text}`} />
}

const ASK_AGAIN_MS = 3_000

const titleOf = async (conversationId: string, signal: AbortSignal): Promise<string> => {
  const [conversation] = await Service.first(Service.client.listConversations({ ids: [conversationId], signal }), 1)
  return conversation?.title ?? ""
}

interface ModelProps {
  readonly conversationId: string
  readonly model: string
}

/** The model and its button. */
const Model = ({ conversationId, model }: ModelProps) => {
  const [isEdited, setIsEdited] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const { failure, send } = useCommand(conversationId)
  Actions.useActions("This conversation", [
    { name: "Change model …", words: "target provider", run: () => setIsEdited(true) }
  ])
  const close = (): void => {
    setIsEdited(false)
    // The field that has the focus goes away.
    button.current?.focus()
  }
  return (
    <>
      <div className="model">
        <span className="quiet">{model}</span>{" "}
        <button
          ref={button}
          type="button"
          className="small"
          aria-expanded={isEdited}
          onClick={() => setIsEdited(!isEdited)}
        >
          Change model
        </button>
      </div>
      {isEdited && (
        <ModelForm
          label="Next prompts go to"
          submit="Change"
          onLeft={close}
          onChosen={(chosen) => {
            close()
            send((conversation) => conversation.setModel(chosen))
          }}
        />
      )}
      <CommandFailure failure={failure} />
    </>
  )
}

interface ToolAnswersProps {
  readonly conversationId: string
  readonly answers: ConversationState.ToolAnswers
}

/** A line for each tool whose calls a person has answered for good, with a button that takes it back; nothing where every call is asked about. */
const ToolAnswers = ({ answers, conversationId }: ToolAnswersProps) => {
  const { failure, isPending, send } = useCommand(conversationId)
  const names = Object.keys(answers)
  const ask = (tool: string): void => {
    const { [tool]: _, ...others } = answers
    send((conversation) => conversation.setToolAnswers(others))
  }
  Actions.useActions(
    "This conversation",
    names.map((tool) => ({
      name: `Ask again about ${tool}`,
      words: "tool always approve refuse forget",
      run: () => ask(tool)
    }))
  )
  if (names.length === 0 && failure === undefined) return null
  return (
    <>
      <ul className="tool-answers" aria-label="Tools without a question">
        {names.map((tool) => (
          <li key={tool}>
            <code>{tool}</code> <span className="quiet">{ANSWER_WORDS[answers[tool] ?? "approve"]}</span>{" "}
            <button
              type="button"
              className="small"
              aria-label={`Ask again about ${tool}`}
              aria-disabled={isPending}
              onClick={() => ask(tool)}
            >
              Ask again
            </button>
          </li>
        ))}
      </ul>
      <CommandFailure failure={failure} />
    </>
  )
}

const ANSWER_WORDS = { approve: "always runs", refuse: "is always refused" } as const
