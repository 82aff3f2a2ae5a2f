/** Lists the API's paths and methods, to distinguish a wrong method from a wrong path. */
import { Api } from "@holdfast/wire/api"
import { HttpApi } from "effect/http-api"
import * as DocsPage from "./docs/DocsPage.ts"
import * as PageRoutes from "./page/PageRoutes.ts"

interface Route {
  readonly method: string
  readonly pattern: RegExp
}

/** The pattern of a path of the API: `:name` matches one segment. */
const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .split("/")
      .map((segment) => (segment.startsWith(":") ? "[^/]+" : segment.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)))
      .join("/")}/?$`
  )

const routes: ReadonlyArray<Route> = (() => {
  const found: Array<Route> = [
    { method: "GET", pattern: patternOf(Api.OPENAPI_PATH) },
    ...DocsPage.paths.map((path) => ({ method: "GET", pattern: patternOf(path) })),
    ...PageRoutes.paths.map(([method, path]) => ({ method, pattern: patternOf(path) }))
  ]
  HttpApi.reflect(Api.Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => found.push({ method: endpoint.method, pattern: patternOf(endpoint.path) })
  })
  return found
})()

/** The first segment of a path with invalid percent-encoding: the router finds no call for such a path. */
export const undecodable = (url: string): string | undefined => pathOf(url).split("/").find(isUndecodable)

/** The methods of a path, as an `Allow` header lists them; empty for an unknown path. */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = pathOf(url)
  const methods = new Set(routes.filter((route) => route.pattern.test(path)).map((route) => route.method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods].sort()
}

// --- internal

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url

const isUndecodable = (segment: string): boolean => {
  try {
    decodeURIComponent(segment)
    return false
  } catch {
    return true
  }
}
