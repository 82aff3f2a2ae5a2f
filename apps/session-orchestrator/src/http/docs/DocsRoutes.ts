/** Routes the pages about the API: `/docs`, its files, the problems. */
import { Api } from "@holdfast/wire/api"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import * as DocsPage from "./DocsPage.ts"
import * as ProblemsPage from "./ProblemsPage.ts"
import * as ScalarScript from "./ScalarScript.ts"
import * as StaticFile from "../body/StaticFile.ts"

/** The paths of these pages. */
export const paths = [Api.DOCS_PATH, DocsPage.SCRIPT_PATH, DocsPage.SETTINGS_PATH, ProblemsPage.PATH] as const

/** The routes. */
export const layer = Layer.mergeAll(
  HttpRouter.add("GET", Api.DOCS_PATH, Effect.promise(DocsPage.page)),
  HttpRouter.add("GET", DocsPage.SCRIPT_PATH, Effect.flatMap(Effect.promise(ScalarScript.load), StaticFile.serve)),
  HttpRouter.add("GET", DocsPage.SETTINGS_PATH, Effect.flatMap(Effect.promise(DocsPage.settings), StaticFile.serve)),
  HttpRouter.add("GET", ProblemsPage.PATH, Effect.sync(ProblemsPage.response))
)
