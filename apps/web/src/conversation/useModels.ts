/** The models that recent turns have used, as suggestions: the API has no list of models. */
import { useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"

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
