/** Opens a conversation with its first prompt. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useId, useRef } from "react"
import * as Draft from "../attach/Draft.ts"
import { keepDraft, PromptBox } from "../attach/PromptBox.tsx"
import { useAttached } from "../attach/useAttached.ts"
import { useConfiguration } from "../health/useHealth.ts"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import { ModelList } from "./ModelForm.tsx"
import "./new.css"

/** The form of a new conversation. */
export const NewConversation = ({ isFocused }: { readonly isFocused: boolean }) => {
  const id = useId()
  const prompt = useRef<HTMLTextAreaElement>(null)
  const attached = useAttached()
  const queries = useQueryClient()
  const configured = useConfiguration().data?.entries.find(({ key }) => key === "model")?.value
  const opening = useMutation({
    mutationFn: async ({ files, text, ...options }: Opening) =>
      Service.client.submit(await Draft.promptOf({ files, text }), options),
    onSuccess: async (turn) => {
      keepDraft(NEW, "")
      const { conversationId } = await turn.getState()
      void Service.readAgain(queries, "conversations")
      PageRoute.go({ page: "conversation", conversationId })
    }
  })
  useEffect(() => {
    if (isFocused) prompt.current?.focus()
  }, [isFocused])
  return (
    <form
      className="new"
      onSubmit={(event) => {
        event.preventDefault()
        const form = new FormData(event.currentTarget)
        const draft = { text: valueOf(form, "prompt"), files: attached.files }
        if (Draft.isEmpty(draft) || opening.isPending) return
        const model = valueOf(form, "model")
        const tags = valueOf(form, "tags")
          .split(/[\s,]+/)
          .filter((tag) => tag !== "")
        const asked = { ...draft, ...(model === "" ? {} : { model }), ...(tags.length === 0 ? {} : { tags }) }
        const before = opening.isError && isSame(opening.variables, asked) ? opening.variables.turnId : undefined
        opening.mutate({ ...asked, turnId: before ?? Draft.newId() })
      }}
    >
      <h1>New conversation</h1>
      <label className="hidden" htmlFor={`${id}-prompt`}>
        Prompt
      </label>
      <PromptBox
        id={`${id}-prompt`}
        draft={NEW}
        field={prompt}
        attached={attached}
        rows={4}
        placeholder="What should the model do?"
        isPending={opening.isPending}
      />
      <div className="fields">
        <div>
          <label htmlFor={`${id}-model`}>Model</label>
          <input
            id={`${id}-model`}
            name="model"
            list={`${id}-models`}
            placeholder={configured ?? "that of the configuration"}
            autoComplete="off"
          />
          <ModelList id={`${id}-models`} />
        </div>
        <div>
          <label htmlFor={`${id}-tags`}>Tags</label>
          <input id={`${id}-tags`} name="tags" placeholder="nightly team/ops" autoComplete="off" />
        </div>
      </div>
      {opening.isError && (
        <p className="error-text" role="alert">
          Not sent: {Problems.wordsOf(opening.error)}
        </p>
      )}
    </form>
  )
}

// --- internal

/** The draft of the first prompt: no conversation has this id. */
const NEW = "+"

interface Opening extends Draft.PromptDraft {
  readonly turnId: string
  readonly model?: string
  readonly tags?: ReadonlyArray<string>
}

const valueOf = (form: FormData, name: string): string => {
  const value = form.get(name)
  return typeof value === "string" ? value.trim() : ""
}

const isSame = (before: Opening, asked: Omit<Opening, "turnId">): boolean =>
  Draft.isSame(before, asked) && before.model === asked.model && before.tags?.join() === asked.tags?.join()
