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
      const models = new Set<string>()
      let turns = 0
      for await (const { model } of Service.client.listTurns({ signal })) {
        models.add(model)
        if (++turns === TURNS) break
      }
      return [...models].toSorted()
    }
  })
  return data
}
