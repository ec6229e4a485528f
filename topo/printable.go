package topo

import (
	"reflect"

	"github.com/gofabric/gofabric/internal/printable"
)

// clean makes all texts of the machine printable. Equal names stay equal.
func (s *System) clean() { cleanValue(reflect.ValueOf(s).Elem()) }

// cleanValue walks the exported fields, which are plain data: lists, pointers and
// structures.
func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if old := v.String(); v.CanSet() {
			if text := printable.Text(old); text != old {
				v.SetString(text)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind == reflect.Int || kind == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanValue(v.Field(i))
			}
		}
	}
}
