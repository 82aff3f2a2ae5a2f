/** The title of a conversation, which a person can change, and its model. */
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useId, useRef, useState } from "react"
import { flushSync } from "react-dom"
import * as Service from "../service/Service.ts"
import * as Actions from "../palette/Actions.ts"
import * as Route from "../shell/Route.ts"
import { Model } from "./Model.tsx"
import { CommandFailure } from "./CommandFailure.tsx"
import { useCommand } from "./useCommand.ts"
import type { Entries } from "../list/useConversations.ts"

interface TitleProps {
  readonly conversationId: string
  readonly model: string | undefined
  /** Shown where the list does not reach back to the conversation. */
  readonly prompt: string | undefined
}

/** The head of a conversation. */
export const Title = ({ conversationId, model, prompt }: TitleProps) => {
  const [isEdited, setIsEdited] = useState(false)
  const id = useId()
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
  Actions.useActions("This conversation", [{ name: "Rename", words: "title", run: () => setIsEdited(true) }])
  useEffect(() => {
    document.title = `${shown} · Holdfast`
  }, [shown])
  const close = (): void => {
    flushSync(() => setIsEdited(false))
    // The field that had the focus is gone.
    rename.current?.focus()
  }
  return (
    <div className="title">
      <a className="back" href={Route.format({ page: "conversations" })}>
        <span aria-hidden="true">←</span> <span className="hidden">All conversations</span>
      </a>
      {isEdited ? (
        <form
          className="title-form"
          onSubmit={(event) => {
            event.preventDefault()
            const text = new FormData(event.currentTarget).get("title")
            close()
            if (typeof text !== "string" || text.trim() === "") return
            send(async (conversation) => {
              await conversation.setTitle(text.trim())
              queries.setQueryData(["title", conversationId], text.trim())
              await queries.invalidateQueries({ queryKey: ["conversations"] })
            })
          }}
          onKeyDown={({ key }) => {
            if (key === "Escape") close()
          }}
        >
          <label className="hidden" htmlFor={id}>
            Title
          </label>
          <input id={id} name="title" maxLength={200} defaultValue={title ?? ""} autoFocus />
          <button type="submit">Save</button>
        </form>
      ) : (
        <>
          <h1>{shown}</h1>
          <button ref={rename} type="button" className="small" onClick={() => setIsEdited(true)}>
            Rename
          </button>
        </>
      )}
      {model !== undefined && <Model conversationId={conversationId} model={model} />}
      <CommandFailure failure={failure} />
    </div>
  )
}

// --- internal

const ASK_AGAIN_MS = 3_000

/** Conversations that are looked through for the title; an older one has its first prompt as the title. */
const MOST = 400

const titleOf = async (conversationId: string, signal: AbortSignal): Promise<string> => {
  let seen = 0
  for await (const conversation of Service.client.listConversations({ signal })) {
    if (conversation.conversationId === conversationId) return conversation.title ?? ""
    if (++seen === MOST) break
  }
  return ""
}
