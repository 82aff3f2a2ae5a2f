/** Asks for a `provider/model`, and suggests those of recent turns. */
import { useId } from "react"
import { LineForm } from "./LineForm.tsx"
import { useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"

interface ModelFormProps {
  readonly label: string
  /** The words of its button. */
  readonly submit: string
  readonly onChosen: (model: string) => void
  readonly onLeft: () => void
}

/** One line for a model, with those of recent turns as suggestions. */
export const ModelForm = ({ label, onChosen, onLeft, submit }: ModelFormProps) => {
  const id = useId()
  return (
    <LineForm
      label={label}
      submit={submit}
      field={{ required: true, placeholder: "provider/model", autoComplete: "off", list: id }}
      onGiven={onChosen}
      onLeft={onLeft}
    >
      <ModelList id={id} />
    </LineForm>
  )
}

/** The suggestions; a field names them by `list`. */
export const ModelList = ({ id }: { readonly id: string }) => (
  <datalist id={id}>
    {useModels().map((model) => (
      <option key={model} value={model} />
    ))}
  </datalist>
)

// The models that recent turns have used, as suggestions: the API has no list of models.

const TURNS = 50
const FRESH_MS = 60_000

/** Targets, as `provider/model`, in the order of the alphabet. */
export const useModels = (): ReadonlyArray<string> => {
  const { data = [] } = useQuery({
    queryKey: ["models"],
    staleTime: FRESH_MS,
    queryFn: async ({ signal }) => {
      const turns = await Service.first(Service.client.listTurns({ signal }), TURNS)
      return [...new Set(turns.map(({ model }) => model))].toSorted()
    }
  })
  return data
}
