import packageJson from '../../../package.json' with { type: 'json' }
import type { HttpExample } from './http-example.ts'

export const getEntryPoint: HttpExample[] = [
  {
    name: 'program',
    summary: 'For a program',
    status: 200,
    answer: {
      name: 'Cubby',
      version: packageJson.version,
      docs: 'http://127.0.0.1:4600/docs',
      openapi: 'http://127.0.0.1:4600/openapi.json',
    },
  },
]

export const checkHealth: HttpExample[] = [{ name: 'alive', summary: 'Alive', status: 200, answer: { status: 'ok' } }]

export const checkReadiness: HttpExample[] = [
  { name: 'ready', summary: 'Ready', status: 200, answer: { status: 'ready' } },
]

export const getDescription: HttpExample[] = [
  {
    name: 'description',
    summary: 'This document, shortened',
    status: 200,
    answer: { openapi: '3.1.0', info: { title: 'Cubby' } },
  },
]

export const getDocsPage: HttpExample[] = [
  {
    name: 'page',
    summary: 'The page, shortened',
    status: 200,
    answer: '<!doctype html>\n<html lang="en">',
    contentType: 'text/html',
  },
]

export const preflight: HttpExample[] = [
  {
    name: 'put',
    summary: 'May a page send PUT?',
    parameters: { 'Access-Control-Request-Method': 'PUT' },
    status: 204,
    headers: { 'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
  },
]
