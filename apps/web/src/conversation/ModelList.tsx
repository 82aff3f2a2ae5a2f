/** The models of recent turns, as suggestions for a text field. */
import { useModels } from "./useModels.ts"

/** The suggestions; a field names them by `list`. */
export const ModelList = ({ id }: { readonly id: string }) => (
  <datalist id={id}>
    {useModels().map((model) => (
      <option key={model} value={model} />
    ))}
  </datalist>
)
