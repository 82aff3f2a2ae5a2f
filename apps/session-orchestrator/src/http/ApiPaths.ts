/** Lists the API's paths and methods, to distinguish a wrong method from a wrong path. */
import { Api } from "@holdfast/wire/api"
import { Option } from "effect"
import { FindMyWay, HttpMethod } from "effect/http"
import { HttpApi } from "effect/http-api"
import * as Address from "../gateway/Address.ts"
import * as PercentText from "../base/text/PercentText.ts"
import * as DocsPage from "./docs/DocsPage.ts"
import * as PageRoutes from "./page/PageRoutes.ts"

const routes = FindMyWay.make<true>({ ignoreTrailingSlash: true })

/** The API's own paths are checked where they are declared. */
const add = (method: string, path: string): void => routes.on(method, path as FindMyWay.PathInput, true)

for (const path of [Api.OPENAPI_PATH, ...DocsPage.paths]) add("GET", path)
for (const [method, path] of PageRoutes.paths) add(method, path)
HttpApi.reflect(Api.Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => add(endpoint.method, endpoint.path)
})

/** The first segment of a path with invalid percent-encoding: the router finds no call for such a path. */
export const undecodable = (url: string): string | undefined =>
  Address.pathOf(url)
    .split("/")
    .find((segment) => Option.isNone(PercentText.decode(segment)))

/** The methods of a path, as an `Allow` header lists them; empty for an unknown path. */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const methods = Array.from(HttpMethod.all).filter((method) => routes.find(method, Address.pathOf(url)) !== undefined)
  return (methods.includes("GET") ? [...methods, "HEAD"] : methods).toSorted()
}
