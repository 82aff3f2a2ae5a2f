/** Opens a conversation with its first prompt. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useId, useRef } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import * as Route from "../shell/Route.ts"
import { newId } from "./Composer.tsx"
import { useModels } from "./useModels.ts"

/** The form of a new conversation. */
export const NewConversation = ({ isFocused }: { readonly isFocused: boolean }) => {
  const id = useId()
  const prompt = useRef<HTMLTextAreaElement>(null)
  const models = useModels()
  const queries = useQueryClient()
  const opening = useMutation({
    mutationFn: ({ text, ...options }: Opening) => Service.client.submit(text, options),
    onSuccess: async (turn) => {
      const { conversationId } = await turn.getState()
      void queries.invalidateQueries({ queryKey: ["conversations"] })
      Route.go({ page: "conversation", conversationId })
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
        const text = valueOf(form, "prompt")
        if (text === "" || opening.isPending) return
        const model = valueOf(form, "model")
        const tags = valueOf(form, "tags")
          .split(/[\s,]+/)
          .filter((tag) => tag !== "")
        const asked = { text, ...(model === "" ? {} : { model }), ...(tags.length === 0 ? {} : { tags }) }
        const before = opening.isError && isSame(opening.variables, asked) ? opening.variables.turnId : undefined
        opening.mutate({ ...asked, turnId: before ?? newId() })
      }}
    >
      <h1>New conversation</h1>
      <label htmlFor={`${id}-prompt`}>Prompt</label>
      <textarea
        id={`${id}-prompt`}
        ref={prompt}
        name="prompt"
        rows={6}
        required
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
      />
      <div className="fields">
        <div>
          <label htmlFor={`${id}-model`}>Model</label>
          <input
            id={`${id}-model`}
            name="model"
            list={`${id}-models`}
            placeholder="that of the configuration"
            autoComplete="off"
          />
          <datalist id={`${id}-models`}>
            {models.map((model) => (
              <option key={model} value={model} />
            ))}
          </datalist>
        </div>
        <div>
          <label htmlFor={`${id}-tags`}>Tags</label>
          <input id={`${id}-tags`} name="tags" placeholder="nightly team/ops" autoComplete="off" />
        </div>
      </div>
      <button type="submit" className="primary" disabled={opening.isPending}>
        Send
      </button>
      {opening.isError && (
        <p className="error-text" role="alert">
          Not sent: {Problems.wordsOf(opening.error)}
        </p>
      )}
    </form>
  )
}

// --- internal

interface Opening {
  readonly text: string
  readonly turnId: string
  readonly model?: string
  readonly tags?: ReadonlyArray<string>
}

const valueOf = (form: FormData, name: string): string => {
  const value = form.get(name)
  return typeof value === "string" ? value.trim() : ""
}

const isSame = (before: Opening, asked: Omit<Opening, "turnId">): boolean =>
  JSON.stringify({ ...before, turnId: undefined }) === JSON.stringify(asked)
